"""Many passes through the model for one backward pass, as a finding of PY003: samples taken one by one, each with its loss."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.samples import SampleLoop
from analyzer.finding import Advice, Confidence, Finding
from analyzer.units import count
from rules.place import location, named
from rules.python.judging import evidence, line_of, what
from rules.python.layer_turns import saving_of_turns

_BATCH = Advice(
    "diff",
    "-loss = 0\n-for i in indices:\n-    x, y = data[i]\n-    loss = loss + criterion(model(x[None]), y[None])\n"
    "+x, y = torch.utils.data.default_collate([data[i] for i in indices])\n"
    "+loss = criterion(model(x), y) * len(indices)     # the sum, as before; without the factor the mean",
    "Where turns are samples: one pass for all of them. The step is then that of the batch, as a `DataLoader` gives it.",
)
_PACKED = Advice(
    "python",
    "x = torch.nn.utils.rnn.pack_sequence([data[i][0].flatten(1) for i in indices], enforce_sorted=False)\n"
    "out, state = rnn(x)                              # the last state of each sequence, in the order of `indices`",
    "Sequences of several lengths in one call, each a matrix of (length, features). Or `pad_sequence`, which computes the padding "
    "as well.",
)
_ORDER = Advice(
    "python",
    "step = torch.compile(step)",
    "Where each turn needs the one before: the function that holds the loop, compiled, and several sequences a batch.",
)
_ON_BATCHES = ("https://docs.pytorch.org/docs/stable/data.html",)
_ON_PACKING = ("https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_sequence.html",)


def samples_finding(facts: Facts, one: SampleLoop) -> Finding:
    """How often the model runs, what that takes, and what all turns but one cost beside their products."""
    loop, line = one.loop, line_of(facts, one.loop)
    passes = round(loop.repeats / max(loop.runs, 1))
    return Finding(
        why=f"The model runs {count(passes, 'time')} for one backward pass{named(line)}, each time with a loss of its own, as for "
        f"samples one by one: {what(facts, loop)}.",
        saving=saving_of_turns(facts, one),
        fix=(_BATCH, *((_PACKED,) if one.recurrent else (_ORDER,))),
        verify="Record again: one pass through the model an update; the same loss, but for batch normalisation and dropout.",
        steps_seen=loop.steps_seen,
        confidence=Confidence.MEDIUM if one.recurrent else Confidence.LOW,
        evidence=evidence(facts, loop),
        location=location(line),
        caveats=_caveats(one),
        title="Model called sample by sample",
        references=_ON_PACKING if one.recurrent else _ON_BATCHES,
    )


def _caveats(one: SampleLoop) -> tuple[str, ...]:
    if one.recurrent:
        return ("Batch normalisation, where there is any, then takes its statistics from the batch.",)
    heads = "" if one.several_layers else ", or heads on the same input, which one wider layer computes"
    return (
        f"The trace does not tell what the turns are: samples, which one batch holds{heads}; steps in time that need the one "
        "before cannot be joined.",
    )
