"""Fixes where a program sends weights and gradients with calls of its own: averaged seldom and at once, sent once, or by DDP."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration
from rules.communication.kinds import WORTH_ADVICE


def move_less(facts: Facts) -> tuple[Advice, ...]:
    """Weights sent once or averaged less often, gradients summed by DDP; empty where none of it is worth advice."""
    found = facts.communication.sent_by_hand
    return (
        *((_given_once(facts, found.given),) if _worth(facts, found.given) else ()),
        *((_averaged(facts),) if _worth(facts, found.averaged) else ()),
        *((_by_ddp(facts),) if _worth(facts, found.summed) else ()),
    )


def _worth(facts: Facts, time: IntervalSet) -> bool:
    return facts.steps.ratio(_exposed_ns(facts, time)) >= WORTH_ADVICE


def _exposed_ns(facts: Facts, time: IntervalSet) -> int:
    return (facts.communication.collectives.exposed & time).total_ns


def _given_once(facts: Facts, time: IntervalSet) -> Advice:
    taken = duration(facts.steps.per_step(_exposed_ns(facts, time)))
    return Advice(
        "diff",
        "-    for parameter in model.parameters():      # in each step\n-        torch.distributed.broadcast(parameter.data, 0)",
        f"Behind the update tensors are broadcast that have the sizes of the gradients which all ranks sum: {taken} "
        f"{facts.steps.a_unit} beside no compute. Ranks that begin with the same weights and apply the same sums keep them alike: "
        "broadcast once, before the first step. Where each rank updates a part of the weights alone, it has to be sent.",
    )


def _averaged(facts: Facts) -> Advice:
    found = facts.communication.sent_by_hand
    each = facts.steps.count_with(found.averaged)
    calls = found.averaged_calls / max(each, 1)
    often = "in each step" if each == facts.steps.count else f"in {each} of {count(facts.steps.count, 'step')}"
    return Advice(
        "python",
        "if (step + 1) % 16 == 0:      # local SGD: seldom\n"
        "    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])\n"
        "    torch.distributed.all_reduce(flat)\n"
        "    torch.nn.utils.vector_to_parameters(flat / torch.distributed.get_world_size(), model.parameters())",
        f"Sums behind the update, {often}, {calls:.0f} at a time: weights that are averaged, not gradients. Half as often sends "
        "half as much; ranks drift apart further, so compare the loss. One tensor has one start.",
    )


def _by_ddp(facts: Facts) -> Advice:
    taken = duration(facts.steps.per_step(_exposed_ns(facts, facts.communication.sent_by_hand.summed)))
    return Advice(
        "python",
        "model = torch.nn.parallel.DistributedDataParallel(model)   # and no all_reduce of gradients",
        f"Gradients are summed behind the backward pass: {taken} {facts.steps.a_unit} beside no compute. DDP sums them in buckets "
        "of 25 MiB, each while the backward pass computes the next.",
    )
