"""Host code on the way of a batch from the loader to the device, or before the next tensor that is sent: what prepares it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import share
from rules.python import in_framework
from rules.python.advice import elsewhere
from rules.python.between_ops import WORTH_A_PLACE

# What the device idles for there beside code outside ops. Where workers prepare the batch all of it goes.
_GOES = ("framework", "python", "sync", "launch", "transfer_call")


def on_its_way(facts: Facts, time: IntervalSet) -> bool:
    """Whether most of the time lies between a batch of the loader and its copy to the device."""
    return 2 * (time & facts.input.before_sent.behind_loader).total_ns > time.total_ns


def may_prepare(facts: Facts, time: IntervalSet) -> bool:
    """Whether a good part of the time may prepare data: it leads to a large copy to the device, or nothing tells of such copies.

    Without a loader a program may make a step's data wherever the step begins.
    """
    leading = facts.input.before_sent.any
    if not leading:
        return True
    if not len(facts.input.wait):
        ends = facts.steps.used["host_end_ns"].to_numpy()
        leading |= time.touching(IntervalSet(ends - 1, ends + 1))
    return (time & leading).total_ns >= WORTH_A_PLACE * time.total_ns


def sentence(facts: Facts, time: IntervalSet) -> str:
    """What to say of a batch on its way, with a space before it; empty where most of the time lies elsewhere."""
    if not on_its_way(facts, time):
        return ""
    ratio = (time & facts.input.before_sent.behind_loader).total_ns / time.total_ns
    return f" {share(ratio)} of it lies between the loader's batch and its copy to the device: the program prepares it there."


def goes_with(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What the device idles for on the way of the batch: where workers prepare it, all goes; none where the time lies elsewhere."""
    if not on_its_way(facts, time):
        return EMPTY
    return facts.time.waterfall.owned(*_GOES) & facts.input.before_sent.behind_loader


def remedies(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """The place for what prepares a batch on its way; empty where most of the time lies elsewhere."""
    return elsewhere(facts) if on_its_way(facts, time) else ()


def moving(facts: Facts, time: IntervalSet, *, own: bool) -> tuple[Advice, ...]:
    """Another place for what is prepared, or less of a framework's own work; empty where nothing shows that data are prepared.

    Args:
        facts: The measurements.
        time: Idle time of host code.
        own: Whether a line or function of the program's is known to do it.
    """
    return in_framework.elsewhere_or_less(facts, own=own) if may_prepare(facts, time) else ()
