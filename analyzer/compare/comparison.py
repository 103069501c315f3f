"""The document of a comparison: everything its reports show, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from analyzer.cause_names import Cause
from analyzer.compare.comparable import differences
from analyzer.compare.noise import Change, judge_change
from analyzer.compare.snapshot import Snapshot, mean_of
from analyzer.since import Difference, Outcome, RuleChange, RuleState

COMPARISON_VERSION = "1.0"
# Rows shown of kernels and ops.
_CHANGED_ROWS = 10
# A saving counts as come true from this share of what vanished from the rule's cost, as partly true from the second.
_CONFIRMED = 0.5
_PARTLY = 0.1


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side: its traces and its step times over all of them, in ns; `times_ns` holds each, run after run."""

    names: tuple[str, ...]
    runs: int
    steps: int
    mean_ns: int
    median_ns: int
    min_ns: int
    max_ns: int
    times_ns: tuple[int, ...]


class CauseChange(msgspec.Struct, frozen=True, kw_only=True):
    """Mean nanoseconds a step that a cause owns, on each side."""

    cause: Cause
    before_ns: int
    after_ns: int


class NameChange(msgspec.Struct, frozen=True, kw_only=True):
    """Mean nanoseconds a step of one kernel (on the device) or op (host self time)."""

    name: str
    before_ns: int
    after_ns: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer for two sides; `change` is None where they are not comparable."""

    schema_version: str
    before: Side
    after: Side
    comparable: bool
    differences: tuple[Difference, ...]
    change: Change | None
    waterfall: tuple[CauseChange, ...]
    rules: tuple[RuleChange, ...]
    kernels: tuple[NameChange, ...]
    ops: tuple[NameChange, ...]


def compare(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> Comparison:
    """Compares two sides.

    Args:
        before: One snapshot per run (repeats of one configuration).
        after: The same of the other side.
    """
    found = differences(before, after)
    comparable = not any(item.blocking for item in found)
    has_steps = all(run.steps_ns for run in (*before, *after))
    change = None
    if comparable and has_steps:
        change = judge_change([run.steps_ns for run in before], [run.steps_ns for run in after])
    return Comparison(
        schema_version=COMPARISON_VERSION,
        before=_side(before),
        after=_side(after),
        comparable=comparable,
        differences=found,
        change=change,
        waterfall=_waterfall(before, after),
        rules=_rules(before, after, change),
        kernels=_changed([run.kernels_ns for run in before], [run.kernels_ns for run in after]),
        ops=_changed([run.ops_ns for run in before], [run.ops_ns for run in after]),
    )


def _side(runs: Sequence[Snapshot]) -> Side:
    steps = sorted(step for run in runs for step in run.steps_ns)
    count = len(steps)
    return Side(
        names=tuple(run.name for run in runs),
        runs=len(runs),
        steps=count,
        mean_ns=sum(steps) // count if count else 0,
        median_ns=(steps[(count - 1) // 2] + steps[count // 2]) // 2 if count else 0,
        min_ns=steps[0] if count else 0,
        max_ns=steps[-1] if count else 0,
        times_ns=tuple(step for run in runs for step in run.steps_ns),
    )


def _waterfall(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> tuple[CauseChange, ...]:
    first, second = mean_of([run.waterfall_ns for run in before]), mean_of([run.waterfall_ns for run in after])
    return tuple(
        CauseChange(cause=cause, before_ns=round(first.get(cause, 0)), after_ns=round(second.get(cause, 0)))
        for cause in get_args(Cause)
        if first.get(cause) or second.get(cause)
    )


def _rules(before: Sequence[Snapshot], after: Sequence[Snapshot], change: Change | None) -> tuple[RuleChange, ...]:
    first, second = _per_rule(before), _per_rule(after)
    looked = {code for run in after for code in run.quiet}
    mean_ns = _side(before).mean_ns
    faster = mean_ns - _side(after).mean_ns
    states = {code: _state(code, first, second, looked) for code in sorted(first.keys() | second.keys())}
    gone = {
        code: first.get(code, (0, ""))[0] - second.get(code, (0, ""))[0] if state in ("fixed", "still") else 0
        for code, state in states.items()
    }
    shared = _shared(before)
    sure = _sure_ns(change, mean_ns)
    result = []
    for code, state in states.items():
        predicted, title = first.get(code, (0, ""))
        left, title_after = second.get(code, (0, ""))
        shrunk = gone[code]
        judged = shrunk > _PARTLY * predicted and predicted > 0
        others = _others(code, gone, shared.get(code, frozenset()))
        promised = shrunk + others
        # Where more came than this one can give back, it is its own only as far as the others leave a share for it.
        told_apart = not shrunk < sure <= promised or faster - others >= _CONFIRMED * shrunk
        result.append(
            RuleChange(
                rule=code,
                title=title or title_after,
                state=state,
                predicted_ns=predicted,
                left_ns=left,
                realised_ns=faster if judged and change is not None else None,
                outcome=_outcome(shrunk, faster, change, exceeded=sure > promised) if judged and told_apart else None,
            )
        )
    return tuple(sorted(result, key=lambda item: (-max(item.predicted_ns, item.left_ns), item.rule)))


def _per_rule(runs: Sequence[Snapshot]) -> dict[str, tuple[int, str]]:
    """Mean bound a step and title by rule; a run without the finding counts as 0."""
    totals: dict[str, tuple[int, str]] = {}
    for run in runs:
        for finding in run.findings:
            total, title = totals.get(finding.rule, (0, finding.title))
            totals[finding.rule] = (total + finding.ns_per_step_max, title)
    return {code: (total // len(runs), title) for code, (total, title) in totals.items()}


def _shared(before: Sequence[Snapshot]) -> dict[str, frozenset[str]]:
    """For each rule those that claim some of the same time."""
    found: dict[str, frozenset[str]] = {}
    for finding in (finding for run in before for finding in run.findings):
        found[finding.rule] = found.get(finding.rule, frozenset()) | set(finding.overlaps_with)
    return found


def _others(code: str, gone: Mapping[str, int], shared: frozenset[str]) -> int:
    """What the other rules promised at most of what vanished: of time that one shares with this rule only what it has beyond."""
    return sum(max(ns - (gone[code] if other in shared else 0), 0) for other, ns in gone.items() if other != code)


def _state(
    code: str, first: dict[str, tuple[int, str]], second: dict[str, tuple[int, str]], looked: set[str]
) -> RuleState:
    if code in second:
        return "still" if code in first else "new"
    return "fixed" if code in looked else "not checked"


def _sure_ns(change: Change | None, mean_ns: int) -> float:
    """How much faster a step surely is; 0 where it is not, or nobody can tell."""
    if change is None or change.kind != "faster" or change.sure_ratio is None:
        return 0.0
    return abs(change.sure_ratio) * mean_ns


def _outcome(shrunk: int, faster: int, change: Change | None, *, exceeded: bool) -> Outcome | None:
    """Whether the step became faster by what vanished from the rule's cost. None where noise allows no answer."""
    if change is None or change.kind == "inconclusive":
        return None
    if change.kind != "faster":
        return "refuted"
    if exceeded:
        return "exceeded"
    return "confirmed" if faster >= _CONFIRMED * shrunk else "partly" if faster >= _PARTLY * shrunk else "refuted"


def _changed(before: list[dict[str, float]], after: list[dict[str, float]]) -> tuple[NameChange, ...]:
    first, second = mean_of(list(before)), mean_of(list(after))
    rows = [
        NameChange(name=name, before_ns=round(first.get(name, 0.0)), after_ns=round(second.get(name, 0.0)))
        for name in {**first, **second}
    ]
    rows.sort(key=lambda row: (-abs(row.after_ns - row.before_ns), row.name))
    return tuple(row for row in rows[:_CHANGED_ROWS] if row.after_ns != row.before_ns)
