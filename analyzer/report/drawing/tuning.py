"""Promised beside measured, with its interval, for each change that ran."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.tuning import TrialDocument, Tuning
from analyzer.page.tuning import interval, promised
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import WIDTH, Drawing, line, rect, text
from analyzer.units import share

_LEFT = 190
_ROOM = WIDTH - _LEFT - 150
_ROW = 40


def gains(tuning: Tuning) -> Drawing | None:
    """A row per change: a thin bar for what was promised, a thick one for what came, a line for the interval; None without any."""
    ran = [trial for trial in tuning.trials if trial.measured_ratio is not None]
    if not ran:
        return None
    ends = [value for trial in ran for value in (trial.promised_ratio, trial.low_ratio or 0.0, trial.high_ratio or 0.0)]
    low, high = max(min(0.0, *ends), -1.0), max(0.05, *ends)
    scale = _ROOM / (high - low)
    zero = _LEFT - low * scale
    pieces = [line(zero, 6, zero, 6 + len(ran) * _ROW, "grid")]
    for number, trial in enumerate(ran):
        pieces += _row(trial, 10 + number * _ROW, zero, scale, low)
    told = "; ".join(
        f"{trial.change}: promised {promised(trial)}, measured {share(trial.measured_ratio or 0)}" for trial in ran
    )
    return Drawing(16 + len(ran) * _ROW, "".join(pieces), told)


def _row(trial: TrialDocument, y: float, zero: float, scale: float, low: float) -> Iterator[str]:
    measured = trial.measured_ratio or 0.0
    yield text(0, y + 18, safe.middle(safe.name(trial.change, 40), 26), "")
    yield rect(zero, y + 2, trial.promised_ratio * scale, 7, "part", f"promised {promised(trial)}")
    start = zero + max(min(measured, 0.0), low) * scale
    kind = "good" if trial.verdict == "helps" else "slow" if trial.verdict == "worse" else "out"
    drawn = {"good": "drawn", "slow": "slow", "out": "used"}[kind]
    yield rect(start, y + 12, abs(max(measured, low)) * scale, 12, drawn, f"measured {share(abs(measured))}")
    if trial.low_ratio is not None and trial.high_ratio is not None:
        left, right = (zero + max(end, low) * scale for end in (trial.low_ratio, trial.high_ratio))
        yield line(left, y + 18, right, y + 18, "bracket")
    yield text(WIDTH, y + 18, f"{trial.verdict}, {interval(trial.low_ratio, trial.high_ratio)}", "quiet end")
