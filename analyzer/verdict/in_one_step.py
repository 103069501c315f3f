"""A loss that lies in one step alone binds that step, and says nothing of the others: a verdict of it says so."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from analyzer.analysis import Verdict
from analyzer.units import share
from analyzer.verdict.case import Case
from analyzer.verdict.shares import CAUSES_OF

# What the other steps have of it is then nothing to speak of.
_MOST = 0.9
# Of two steps nobody knows which one is usual.
_MIN_STEPS = 3
# Verdicts on pauses and searches say so themselves.
_COUNTS = re.compile(r"\bin [\d,]+ of [\d,]+ ")


def in_one_step(case: Case, said: Verdict) -> Verdict:
    """The verdict, with a sentence on the step that holds nearly all of what binds the run, where one does.

    Args:
        case: The run.
        said: The verdict on it.
    """
    facts = case.facts
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
