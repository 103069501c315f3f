"""Where a step's device does nothing: how long, what the host was in, which cause owns it and which finding explains it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.cause_names import CAUSES
from analyzer.spans.intervals import IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

MOST_GAPS = 100
# No device stops and starts again within less: what is shorter comes from rounding, and is counted, but no row.
LEAST_GAP_NS = 100
# A gap is a finding's where the finding claims at least this share of it.
CLAIMED_RATIO = 0.3
# An event names a gap where it fills at least this share of it.
FILLED_RATIO = 0.5


class Gap(msgspec.Struct, frozen=True):
    """A time without work, relative to the step.

    Args:
        start_ns: Start.
        dur_ns: Length.
        cause: The cause that owns most of it.
        host: What the host was in: the innermost event that fills half of it, else the commonest outermost one.
        times: How often that event occurs in the gap.
        finding: Id of the finding that explains most of it; None where none does.
    """

    start_ns: int
    dur_ns: int
    cause: str
    host: str
    times: int
    finding: str | None


def gaps_of(
    facts: Facts, host: pd.DataFrame, start: int, end: int, *, used: bool, claims: Mapping[str, IntervalSet]
) -> tuple[tuple[Gap, ...], int]:
    """The longest gaps of one step that are no rounding, and the length of all, these included.

    Args:
        facts: The measurements.
        host: Host spans that touch the step, from `step_lanes`.
        start: Start of the step.
        end: Its end.
        used: Whether the waterfall of the trace covers it.
        claims: For each finding's id the time it explains, best first.
    """
    whole = IntervalSet.of([(start, end)])
    divided = facts.time.waterfall if used else facts.time.waterfall_of(facts.device.main, whole)
    busy = facts.device.main.busy if facts.device.main else divided.owned("compute")
    idle = whole - busy
    longest = np.sort(np.argsort(idle.start_ns - idle.end_ns, kind="stable")[:MOST_GAPS])
    longest = longest[(idle.end_ns - idle.start_ns)[longest] >= LEAST_GAP_NS]
    starts, ends = idle.start_ns[longest], idle.end_ns[longest]
    owned = np.stack([divided.owned(cause).overlap_with(starts, ends) for cause in CAUSES])
    cause = owned.argmax(axis=0)
    ids = list(claims)
    claimed = np.stack([claims[one].overlap_with(starts, ends) for one in ids]) if ids else np.zeros((1, len(starts)))
    best = claimed.argmax(axis=0)
    gaps = []
    for index, (low, high) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        name, times = _inside(host, low, high, facts.host.main_thread)
        explained = ids and claimed[best[index], index] >= CLAIMED_RATIO * (high - low)
        finding = ids[best[index]] if explained else None
        gaps.append(Gap(low - start, high - low, CAUSES[cause[index]], name, times, finding))
    return tuple(sorted(gaps, key=lambda gap: (-gap.dur_ns, gap.start_ns))), idle.total_ns


def _inside(host: pd.DataFrame, low: int, high: int, main: int | None) -> tuple[str, int]:
    """What the host does in a gap, and how often; an empty name where it does nothing recorded."""
    begin, stop = host["start_ns"].to_numpy(), host["end_ns"].to_numpy()
    touching = np.flatnonzero((stop > low) & (begin < high))
    if not len(touching):
        return "", 0
    overlap = np.minimum(stop[touching], high) - np.maximum(begin[touching], low)
    depth = host["depth"].to_numpy()[touching]
    names = host["name"].to_numpy()
    filling = overlap >= FILLED_RATIO * (high - low)
    if filling.any():
        mine = host["thread"].to_numpy()[touching] == main
        # The deepest one; the main thread's where threads tie.
        at = np.lexsort((mine, depth, filling))[-1]
        return str(names[touching[at]]), 1
    outer = touching[depth == 0]
    if not len(outer):
        return "", 0
    distinct, place = np.unique(names[outer].astype(str), return_inverse=True)
    top = int(np.bincount(place, overlap[depth == 0]).argmax())
    return str(distinct[top]), int((place == top).sum())
