"""Whether a change leaves training as it was: its loss curve against the unchanged script's, on the same seed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Half-precision training is held to run-to-run differences of a few percent of the loss; what equal runs differ by comes on top.
TOLERANCE = 0.05
_LEAST = 8


@dataclass(frozen=True)
class Held:
    """How far a curve is from the baseline's, as a share of the loss's own scale.

    Args:
        difference: The difference of the means over the last quarter; None where no loss was seen.
        tolerance: What it may be.
        rejected: Why the change is not to be had; empty where it is.
    """

    difference: float | None
    tolerance: float
    rejected: str = ""


def held(baselines: Sequence[Sequence[float | None]], curve: Sequence[float | None]) -> Held:
    """Holds a curve against those of runs of the unchanged script."""
    first = baselines[0] if baselines else ()
    steps = min(len(first), len(curve))
    if steps < _LEAST:
        return Held(None, TOLERANCE)
    reference = [value for value in first[:steps] if value is not None]
    if len(reference) < steps:  # the script itself diverges
        return Held(None, TOLERANCE)
    broken = next((place for place, value in enumerate(curve[:steps]) if value is None), None)
    if broken is not None:
        return Held(float("inf"), TOLERANCE, f"the loss is no finite number from step {broken} on")
    mine = [value for value in curve[:steps] if value is not None]
    scale = max(abs(statistics.fmean(reference)), statistics.pstdev(reference), 1e-12)
    apart = [_apart(reference, other[:steps], scale) for other in baselines[1:] if len(other) >= steps]
    tolerance = TOLERANCE + max(apart, default=0.0)
    difference = _apart(reference, mine, scale)
    over = f"the loss ends {difference:.1%} of its scale away, beyond {tolerance:.1%}" if difference > tolerance else ""
    return Held(difference, tolerance, over.replace("%", " %"))


def _apart(one: Sequence[float], other: Sequence[float | None], scale: float) -> float:
    """How far the means over the last quarter are apart."""
    tail = max(len(one) // 4, 1)
    last = [value for value in other[-tail:] if value is not None]
    return abs(statistics.fmean(one[-tail:]) - statistics.fmean(last)) / scale if last else 0.0
