"""A loss that was seen once binds the step it lies in, and says nothing of the others: a verdict of it says so."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.analysis import Verdict
from analyzer.units import share
from analyzer.verdict.case import Case
from analyzer.verdict.shares import CAUSES_OF
from traces.patterns import Pattern

# What the other steps have of it is then nothing to speak of.
_MOST = 0.9
# Of two steps nobody knows which one is usual.
_MIN_STEPS = 3
_ASKED_ONCE = (
    " One batch was asked for in all that was recorded, and a first one may take longer: record more to see the usual."
)
# Verdicts on pauses and searches say so themselves.
_COUNTS = Pattern(r"\bin [\d,]+ of [\d,]+ ")


def in_one_step(case: Case, said: Verdict) -> Verdict:
    """The verdict, with a sentence on the step that holds nearly all of what binds the run, where one does.

    Args:
        case: The run.
        said: The verdict on it.
    """
    facts = case.facts
    if said.bound_by == "input" and len(facts.input.wait) == 1:
        # The first batch that workers make, or that a file is opened for, takes longer than those behind it.
        return msgspec.structs.replace(said, text=said.text + _ASKED_ONCE)
    causes = CAUSES_OF.get(said.bound_by, ())
    if not causes or facts.steps.count < _MIN_STEPS or _COUNTS.search(said.text):
        return said
    per_step = facts.time.step_causes
    lost = per_step[list(causes)].sum(axis=1)
    if not lost.sum() or lost.max() < _MOST * lost.sum():
        return said
    # By its place: numbers may come twice.
    place = int(lost.to_numpy().argmax())
    others = np.arange(len(per_step)) != place
    total, useful = int(per_step.to_numpy()[others].sum()), int(per_step["compute"].to_numpy()[others].sum())
    if not total:
        return said
    number = per_step.index[place]
    noun = facts.steps.noun
    text = (
        f" Nearly all of this loss is in {noun} {number}, one of {facts.steps.count}; the others compute for "
        f"{share(useful / total)} of their time. Record more to see which is usual."
    )
    return msgspec.structs.replace(said, text=said.text + text)
