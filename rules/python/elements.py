"""Elements of a tensor sent through the same layers one by one, as a finding of PY003."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.elements import ElementLoop
from analyzer.finding import Advice, Confidence, Figure, Finding
from analyzer.units import count
from rules.place import location, named
from rules.python.judging import evidence, line_of, what
from rules.python.layer_turns import saving_of_turns

_AT_ONCE = Advice(
    "diff",
    "-parts = [encoder(clip[:, t]) for t in range(clip.shape[1])]\n-y = torch.stack(parts, dim=1)\n"
    "+y = encoder(clip.flatten(0, 1))                     # (batch * frames, ...): one call\n"
    "+y = y.view(*clip.shape[:2], *y.shape[1:])",
    "Frames, views, crops or agents go into the batch for the layers, and are taken apart behind them.",
)

_FASTER = "One large op may take less than many small ones beside that"


def elements_finding(facts: Facts, one: ElementLoop) -> Finding:
    """How often the layers are called, what that takes, and what all turns but one cost beside their products."""
    loop, line = one.loop, line_of(facts, one.loop)
    turns = round(loop.repeats / max(loop.runs, 1))
    return Finding(
        why=f"The same layers are called {count(turns, 'time')} in a row{named(line)}, each time with one element of a tensor, as "
        f"with frame after frame: {what(facts, loop)}.",
        saving=saving_of_turns(facts, one, kind=Figure.ESTIMATE, besides=_FASTER),
        fix=(_AT_ONCE,),
        verify="Record again: each layer is called once; the same loss, but for batch normalisation and dropout.",
        steps_seen=loop.steps_seen,
        confidence=Confidence.MEDIUM if one.shaped and not one.adds else Confidence.LOW,
        evidence=evidence(facts, loop),
        location=location(line),
        caveats=_caveats(one),
        title="Layers called element by element",
    )


def _caveats(one: ElementLoop) -> tuple[str, ...]:
    order = "Without recorded shapes the trace does not tell whether a turn needs the one before it: then they cannot be joined."
    norms = "Batch normalisation then takes its statistics from all elements at once."
    state = (
        "Additions are taken for those of residual blocks: one that adds what the turn before has left needs that turn."
    )
    return (*(() if one.shaped else (order,)), *((state,) if one.adds else ()), *((norms,) if one.normalises else ()))
