"""What turns that each go through layers cost where one call could take all of them: samples, elements of a tensor, heads."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.elements import ElementLoop
from analyzer.facts.loops.heads import HeadLoop
from analyzer.facts.loops.samples import SampleLoop
from analyzer.finding import Figure, Saving
from rules.batched import with_kernels

_BASIS = (
    "what the turns cost beside their products, less one turn; where their ops are long, only the time between ops and that of the "
    "short ones"
)


def saving_of_turns(
    facts: Facts, one: SampleLoop | ElementLoop | HeadLoop, *, kind: Figure = Figure.BOUND, besides: str = ""
) -> Saving:
    """What all turns but one cost without the products, of which one call has as many to compute.

    Args:
        facts: The measurements.
        one: The loop.
        kind: What kind of figure that is.
        besides: What more there is to say of it; empty for nothing.
    """
    loop = one.loop
    saved = facts.time.host_loss(
        loop.spans - one.products if facts.device.main is None else loop.spans, one.usual_op_ns
    ).scaled(loop.avoidable_ratio)
    basis = f"{_BASIS}. {besides}" if besides else _BASIS
    saving = Saving(claims=saved.claims, kernel_ns=saved.op_ns, basis=basis, kind=kind)
    return with_kernels(facts, saving, loop.spans, loop.avoidable_ratio)
