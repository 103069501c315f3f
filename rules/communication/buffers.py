"""Fixes where DistributedDataParallel sends buffers from rank 0 before each pass: no setting of the gradients helps."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration
from rules.communication.kinds import WORTH_ADVICE


def own_buffers(lost: str, doubt: str = "") -> Advice:
    """Do without the copies of the model's buffers that DistributedDataParallel sends from rank 0 before each forward pass.

    Args:
        lost: What they cost, as the beginning of a sentence that ends in `while`.
        doubt: When that does not help; a sentence.
    """
    return Advice(
        "diff",
        " model = DistributedDataParallel(\n     model,\n+    broadcast_buffers=False,\n )",
        f"{lost} DDP copies the model's buffers (running statistics) from rank 0 before the forward pass. Without that each rank "
        f"keeps its own: evaluate and save those of rank 0, as now.{doubt}",
    )


def listed(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """Where most of some time of the host goes into listing those buffers, before anything is sent: nothing where it does not."""
    inside = (facts.host.listing_buffers & time).total_ns
    if 2 * inside <= time.total_ns:
        return ()
    return (
        own_buffers(
            f"{duration(facts.steps.per_step(inside))} {facts.steps.a_unit} the host lists the modules' buffers while"
        ),
    )


def buffers_exposed_ns(facts: Facts) -> int:
    """Time a step in which nothing runs but the sending of those buffers; 0 where DDP sends none."""
    if not facts.communication.buffer_broadcasts:
        return 0
    sent = facts.communication.collectives.exposed_ns.items()
    return sum(ns for kind, ns in sent if "broadcast" in kind)


def of_buffers(facts: Facts) -> tuple[Advice, ...]:
    """Where a good part of the exposed time is DDP's sending of buffers, which no setting of the gradients touches."""
    exposed_ns = buffers_exposed_ns(facts)
    if facts.steps.ratio(exposed_ns) < WORTH_ADVICE:
        return ()
    return (
        own_buffers(
            f"{duration(facts.steps.per_step(exposed_ns))} {facts.steps.a_unit} nothing "
            f"{'runs on the GPU' if facts.device.main is not None else 'is computed'} while",
            " Where it is another rank that comes late, the wait goes on in the next collective.",
        ),
    )


def other_exposed(facts: Facts) -> bool:
    """Whether anything else than those buffers is worth advice."""
    rest = facts.communication.collectives.exposed.total_ns - buffers_exposed_ns(facts)
    return facts.steps.ratio(rest) >= WORTH_ADVICE or not of_buffers(facts)
