"""What comes in few of the steps, as an average of weights does, told with how much in each: a mean step has little of it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration

# Of so much of the time of something the steps that hold it are told, where they are no more than half of all.
_MOST_RATIO = 0.8
_FEW_RATIO = 0.5
# The same transfer takes some steps a few times as long as others; a step with less of it than this is none that it comes in.
_LARGE_RATIO = 0.25


def in_few_steps(facts: Facts, time: IntervalSet) -> str:
    """That most of a time lies in few of the steps, with how much in each, as a sentence; empty where it does not."""
    steps = facts.steps
    inside = time.overlap_with(steps.used["start_ns"].to_numpy(), steps.used["end_ns"].to_numpy())
    large = inside >= inside.max(initial=0) * _LARGE_RATIO
    many, held = int(large.sum()), int(inside[large].sum())
    if not many or many > _FEW_RATIO * steps.count or held < _MOST_RATIO * inside.sum():
        return ""
    return f"Most of it comes in {many} of {count(steps.count, steps.noun)}, {duration(held / many)} in each of these. "
