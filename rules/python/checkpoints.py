"""Host code outside ops that writes the state of the model: told by a sampled line, by stacks, or by what is taken before it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from rules.idle.pausing import fixes
from rules.python import sampled

_TAKEN = (
    " Directly before it at least as many tensors are detached in a row as receive a gradient, as `state_dict()` does for a "
    "checkpoint."
)
# Less of the time is one part of several.
_MOST = 0.5


def sentence(facts: Facts, time: IntervalSet) -> str:
    """What to say of the ops before it, with a space before it; empty where they tell nothing."""
    return _TAKEN if taken(facts, time) else ""


def remedies(facts: Facts, time: IntervalSet, line: SampledLine | None) -> tuple[Advice, ...]:
    """What to do about a state that is written; nothing where most of the time is, or may be, something else."""
    known = taken(facts, time) or _by_stacks(facts, time) or (line is not None and sampled.saves(line))
    return fixes(facts, "saving") if known else ()


def taken(facts: Facts, time: IntervalSet) -> bool:
    """Whether most of the time begins where the state of a model was taken."""
    return bool(time) and (facts.host.behind_state & time).total_ns > _MOST * time.total_ns


def _by_stacks(facts: Facts, time: IntervalSet) -> bool:
    output = facts.host.output
    mostly = next(iter(output.kinds), None) == "checkpoint"
    return mostly and (output.spans & time).total_ns > _MOST * time.total_ns
