"""What the device waits for between two passes that decode: the choice of a token, the schedule, and what else the host does."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.device.activity import DeviceActivity
from analyzer.facts.generation.passes import Generation
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.intervals import IntervalSet


class DecodeGaps(msgspec.Struct, frozen=True):
    """Idle time of the device between two passes that decode, with no other pass between.

    Args:
        time: When, inside the used steps.
        pairs: Pairs of passes that follow one another.
        median_ns: Idle time of a pair, median; 0 without pairs.
        causes: Causes of the waterfall that own it, the largest first, each with its nanoseconds.
    """

    time: IntervalSet
    pairs: int
    median_ns: float
    causes: tuple[tuple[str, int], ...]


def decode_gaps(
    found: Generation, device: DeviceActivity | None, steps: Steps, waterfall: Waterfall, without: IntervalSet
) -> DecodeGaps:
    """Measures the gaps; none without a device.

    Args:
        found: The passes.
        device: The main device.
        steps: The steps.
        waterfall: Whose each nanosecond is.
        without: What is no token's: waits for requests, and stops of the whole program once in a while.
    """
    passes = found.passes
    decodes = (passes["kind"] == "decode").to_numpy(dtype=bool)
    both = decodes[1:] & decodes[:-1]
    if device is None or not both.any():
        return DecodeGaps(IntervalSet(), int(both.sum()), 0.0, ())
    start = passes["end_ns"].to_numpy(dtype=np.int64)[:-1][both]
    end = np.maximum(passes["start_ns"].to_numpy(dtype=np.int64)[1:][both], start)
    time = (IntervalSet(start, end) - device.busy - without) & steps.window
    causes = ((cause, (waterfall.owned(cause) & time).total_ns) for cause in IDLE_CAUSES)
    return DecodeGaps(
        time=time,
        pairs=int(both.sum()),
        median_ns=float(np.median(time.overlap_with(start, end))),
        causes=tuple(sorted((one for one in causes if one[1]), key=lambda one: (-one[1], one[0]))),
    )
