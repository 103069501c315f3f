"""Pairs taken from a tuning or a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.tuning import Tuning
from analyzer.calibration.pairs import Pair
from analyzer.compare.comparison import Comparison


def of_tuning(tuning: Tuning) -> Iterator[Pair]:
    """The pairs of a tuning: of trials that were measured and are of one rule, as nobody can say which of several was right.

    A share of the recorded step is not what is measured without the profiler.
    """
    for trial in tuning.trials:
        if (
            trial.measured_ratio is None
            or trial.low_ratio is None
            or len(trial.rules) != 1
            or trial.promised_of_recorded
        ):
            continue
        yield Pair(
            rule=trial.rules[0],
            source="tune",
            name=trial.change,
            promised_ratio=trial.promised_ratio,
            measured_ratio=max(trial.measured_ratio, 0.0),
            noise_ratio=max(tuning.noise_ratio, trial.measured_ratio - trial.low_ratio),
            date=tuning.date,
            kind=trial.promised_kind,
            on_device=tuning.on_device,
        )


def of_comparison(comparison: Comparison, date: str, *, on_device: bool) -> Iterator[Pair]:
    """The pair of a comparison: where one finding vanished, alone, and the step changed beyond doubt or surely did not.

    One that another of them says more closely, and that promises no more, is no second finding.
    """
    change = comparison.change
    # One that nobody looked for again may have vanished too.
    gone = [row for row in comparison.rules if row.state in ("fixed", "not checked") and row.predicted_ns > 0]
    promised = {row.rule: row.predicted_ns for row in gone}
    gone = [row for row in gone if all(promised.get(code, 0) < row.predicted_ns for code in row.explained_by)]
    mean_ns = comparison.before.mean_ns
    if change is None or change.kind == "inconclusive" or len(gone) != 1 or not mean_ns or gone[0].realised_ns is None:
        return
    yield Pair(
        rule=gone[0].rule,
        source="compare",
        name="",
        promised_ratio=min(gone[0].predicted_ns / mean_ns, 1.0),
        measured_ratio=min(max(gone[0].realised_ns / mean_ns, 0.0), 1.0),
        noise_ratio=min(abs(change.high_ratio - change.low_ratio) / 2, 1.0),
        date=date,
        kind=gone[0].kind,
        on_device=on_device,
    )
