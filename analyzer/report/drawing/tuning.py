"""Promised beside measured, with its interval, for each change that ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.analysis.tuning import TrialDocument, Tuning
from analyzer.page.tuning import interval, promised
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import NARROW, WIDTH, Drawing, line, rect, text
from analyzer.units import share


@dataclass(frozen=True)
class _Plan:
    """Where things stand: words beside the bars, or on a page as wide as a telephone above them."""

    width: int
    left: int
    right: int
    above: int
    letters: int

    @property
    def row(self) -> int:
        """The height of one."""
        return self.above + 40

    @property
    def words(self) -> int:
        """Where the words of a row stand below its top."""
        return 18 if not self.above else 14


_WIDE = _Plan(width=WIDTH, left=190, right=150, above=0, letters=26)
_NARROW = _Plan(width=NARROW, left=0, right=0, above=18, letters=24)


def gains(tuning: Tuning, width: int = WIDTH) -> Drawing | None:
    """A row per change: a thin bar for what was promised, a thick one for what came, a line for the interval; None without any."""
    ran = [trial for trial in tuning.trials if trial.measured_ratio is not None]
    if not ran:
        return None
    ends = [value for trial in ran for value in (trial.promised_ratio, trial.low_ratio or 0.0, trial.high_ratio or 0.0)]
    low, high = max(min(0.0, *ends), -1.0), max(0.05, *ends)
    plan = _WIDE if width >= WIDTH else _NARROW
    scale = (plan.width - plan.left - plan.right) / (high - low)
    zero = plan.left - low * scale
    pieces = [line(zero, 6, zero, 6 + len(ran) * plan.row, "grid")] if plan is _WIDE else []
    for number, trial in enumerate(ran):
        pieces += _row(trial, 10 + number * plan.row, zero, scale, low, plan)
    told = "; ".join(
        f"{trial.change}: promised {promised(trial)}, measured {share(trial.measured_ratio or 0)}" for trial in ran
    )
    return Drawing(16 + len(ran) * plan.row, "".join(pieces), told, plan.width)


def _row(trial: TrialDocument, y: float, zero: float, scale: float, low: float, plan: _Plan) -> Iterator[str]:
    measured = trial.measured_ratio or 0.0
    said = f"{trial.verdict}, {interval(trial.low_ratio, trial.high_ratio)}"
    yield text(0, y + plan.words, safe.middle(safe.name(trial.change, 40), plan.letters), "")
    yield text(plan.width, y + plan.words, said, "quiet end")
    y += plan.above
    yield rect(zero, y + 2, trial.promised_ratio * scale, 7, "part", f"promised {promised(trial)}")
    start = zero + max(min(measured, 0.0), low) * scale
    kind = "good" if trial.verdict == "helps" else "slow" if trial.verdict == "worse" else "out"
    drawn = {"good": "drawn", "slow": "slow", "out": "used"}[kind]
    yield rect(start, y + 12, abs(max(measured, low)) * scale, 12, drawn, f"measured {share(abs(measured))}")
    if trial.low_ratio is not None and trial.high_ratio is not None:
        left, right = (zero + max(end, low) * scale for end in (trial.low_ratio, trial.high_ratio))
        yield line(left, y + 18, right, y + 18, "bracket")
