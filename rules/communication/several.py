"""Several ranks that are equally late: each alone costs nothing, as the others wait for the next of them."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, in_collectives, in_own_work
from analyzer.finding import Advice, Confidence, Finding, Saving
from analyzer.ranks.document import Together
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.communication.now_and_then import EQUAL_WORK, unread

_NAMED = 8
_SAME = {
    "device": "Their kernels are the same, on the same shapes, and take longer.",
    "imbalance": "They have more work: larger shapes, or more kernels.",
}
_ASK = "nvidia-smi --query-gpu=index,clocks.sm,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active --format=csv"
_OF_A_MACHINE = Advice(
    "shell",
    _ASK,
    "On the machine of these ranks and on another one: clocks, power limits, cooling, versions of driver and software.",
)
_OF_DEVICES = Advice(
    "shell",
    _ASK,
    "Beside the devices of other ranks: with equal work theirs are slower, by clocks, power limits or what else runs on them.",
)
_ITS_HOST = Advice(
    "text",
    "Look at what these ranks do on their hosts and the others do not: their own reports name the largest part.",
    "Loaders that read from another disk, logging, cores that other programs use.",
)
_COMPARED = Advice(
    "text",
    "Look for what these ranks have in common: a machine, a place in the model or in the data, a version of some software.",
    "Each does more than its peers, and the job goes at their pace; one of them alone mended saves nothing.",
)


def of_several(facts: Facts, place: JobPlace, late: Together, ratio: float) -> Finding:
    """What the job loses by ranks that are late together, `ratio` of its step."""
    mine = place.rank in late.ranks
    who = ", ".join(map(str, late.ranks[:_NAMED]))
    who += f" and {count(len(late.ranks) - _NAMED, 'more rank')}" if len(late.ranks) > _NAMED else ""
    where = ", all those of one machine," if late.one_machine else ""
    why = _SAME.get(late.cause) or (
        f"They are late by {late.cause_detail}." if late.cause_detail else "Why is not clear."
    )
    return Finding(
        title="Several ranks are late together",
        why=f"Ranks {who}{where} do more than the others in most steps: with all of them as their peers the step takes "
        f"{duration(late.saved_ns_per_step)} less ({share(ratio)}); one alone saves nothing. {why} "
        + ("This is one of them." if mine else "This rank waits for them."),
        saving=_saving(facts, place, late) if mine else _waiting(facts, place, late),
        fix=_fix(facts, late),
        verify="Record all ranks again: the times inside collectives should be alike, and CO003 clear.",
        steps_seen=facts.steps.count,
        confidence=Confidence.LOW if late.cause == "not clear" else Confidence.MEDIUM,
        caveats=unread(place),
    )


def _saving(facts: Facts, place: JobPlace, late: Together) -> Saving:
    """What the job loses, on one of the ranks: in what it computes, or in what its host spends most of."""
    basis = "what the job's step is shorter by with all of these ranks as their peers"
    if late.cause != "host":
        claims, kernel_ns = in_own_work(facts.device, facts.steps, facts.time, float(late.saved_ns_per_step))
        return Saving(claims, kernel_ns, basis)
    row = place.row
    others = [one.waterfall for one in place.used if one.rank not in late.ranks]
    more = {
        cause: ns - sum(one.get(cause, 0) for one in others) / max(len(others), 1)
        for cause, ns in ({} if row is None else row.waterfall).items()
        if cause not in ("communication", "device_wait", "compute")
    }
    cause = max(more, key=lambda one: more[one], default="python")
    owned: IntervalSet = facts.time.waterfall.owned(cause)
    return Saving(owned.scaled(min(late.saved_ns_per_step * facts.steps.count / max(owned.total_ns, 1), 1.0)), 0, basis)


def _waiting(facts: Facts, place: JobPlace, late: Together) -> Saving:
    waits = 0 if place.row is None else place.row.exposed_waiting_most_ns or 0
    return Saving(
        in_collectives(facts.steps, facts.time, float(min(waits, late.saved_ns_per_step))),
        0,
        "what this rank waits for others, up to what the job's step is shorter by with these ranks as their peers",
    )


def _fix(facts: Facts, late: Together) -> tuple[Advice, ...]:
    if late.cause == "imbalance":
        return (EQUAL_WORK,)
    if late.cause == "host":
        return (_ITS_HOST,)
    if late.cause == "device" and facts.device.kind == "cuda":
        return (_OF_A_MACHINE if late.one_machine else _OF_DEVICES,)
    return (_COMPARED,)
