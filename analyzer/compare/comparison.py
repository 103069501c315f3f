"""The document of a comparison: everything its reports show, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec

from analyzer.analysis.changes import Difference, RuleChange
from analyzer.cause_names import Cause
from analyzer.compare.believed import judge
from analyzer.compare.comparable import differences
from analyzer.compare.jobs import JobChange
from analyzer.compare.noise import Change
from analyzer.compare.promised import rule_changes
from analyzer.compare.public import known_only
from analyzer.compare.snapshot import Snapshot, mean_of
from analyzer.page.words.of_steps import Noun, label

COMPARISON_VERSION = "1.2"
# Rows shown of kernels and ops.
_CHANGED_ROWS = 10


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
    """The whole answer for two sides.

    Args:
        schema_version: Of this document.
        before: The first side.
        after: The second.
        comparable: Whether an answer is possible.
        differences: What is not the same on both sides, blocking ones first.
        change: How the step time changed; None where the sides are not comparable, or without steps.
        waterfall: What each cause owns.
        rules: What became of each finding, the largest first.
        kernels: Those that changed most.
        ops: The same on the host.
        operators: The same of the device, by the operator that asks for its work; empty where one side does not say.
        job: Both jobs; None where the sides are no jobs of ranks.
        noun: What the steps of both sides are; a step where the sides do not agree.
    """

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
    operators: tuple[NameChange, ...] = ()
    job: JobChange | None = None
    noun: Noun = "step"


def compare(before: Sequence[Snapshot], after: Sequence[Snapshot], job: JobChange | None = None) -> Comparison:
    """Compares two sides.

    Args:
        before: One snapshot per run (repeats of one configuration).
        after: The same of the other side.
        job: Both jobs, where the sides are ranks of one each; then the runs are the same rank of both.

    Where names were left out on one side, the other is compared without its own: they would all look new.
    """
    if any(run.left_out is not None for run in (*before, *after)):
        before, after = ([known_only(run) for run in side] for side in (before, after))
    noun = _noun(before, after)
    found = differences(before, after)
    sides = _side(before), _side(after)
    comparable = not any(item.blocking for item in found)
    has_steps = all(run.steps_ns for run in (*before, *after))
    change = None
    if comparable and has_steps:
        change = judge(before, after)
        change = msgspec.structs.replace(change, text=label(change.text, noun))
    return Comparison(
        schema_version=COMPARISON_VERSION,
        before=sides[0],
        after=sides[1],
        comparable=comparable,
        differences=tuple(_in_words(one, noun) for one in found),
        change=change,
        waterfall=_waterfall(before, after),
        rules=rule_changes(before, after, change, faster_ns=sides[0].mean_ns - sides[1].mean_ns),
        kernels=_changed([run.kernels_ns for run in before], [run.kernels_ns for run in after]),
        ops=_changed([run.ops_ns for run in before], [run.ops_ns for run in after]),
        operators=_changed_operators(before, after),
        job=job,
        noun=noun,
    )


def _noun(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> Noun:
    # What was saved before this was taken down does not say: the other side does.
    nouns = {run.noun for run in (*before, *after)} - {None}
    return nouns.pop() or "step" if len(nouns) == 1 else "step"


def _in_words(difference: Difference, noun: Noun) -> Difference:
    texts = {name: label(getattr(difference, name), noun) for name in ("what", "before", "after")}
    return msgspec.structs.replace(difference, **texts)


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


def _changed_operators(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> tuple[NameChange, ...]:
    """None where a run does not say: what was saved before this was taken down, a summary, a recording without a device's ops."""
    sides = [[run.operators_ns for run in side if run.operators_ns is not None] for side in (before, after)]
    return _changed(*sides) if len(sides[0]) == len(before) and len(sides[1]) == len(after) else ()


def _changed(before: list[dict[str, float]], after: list[dict[str, float]]) -> tuple[NameChange, ...]:
    first, second = mean_of(list(before)), mean_of(list(after))
    rows = [
        NameChange(name=name, before_ns=round(first.get(name, 0.0)), after_ns=round(second.get(name, 0.0)))
        for name in {**first, **second}
    ]
    rows.sort(key=lambda row: (-abs(row.after_ns - row.before_ns), row.name))
    return tuple(row for row in rows[:_CHANGED_ROWS] if row.after_ns != row.before_ns)
