"""What may be meant by time outside ops beside the program's own code: locks, extensions, ops that were not recorded."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Confidence
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, share
from rules.guards import in_guards
from rules.python import checkpoints
from rules.python.between_ops import in_backward, in_update
from rules.python.sent import nothing_sent

# Traces recorded whole launch at most 2 % of their kernels outside ops (measured on 14).
WITHOUT_OP_RATIO = 0.2


def shares_interpreter(facts: Facts) -> bool:
    """Whether threads of this process make the batches."""
    return facts.input.wait.own_workers and not facts.recording.collected.own_processes


def of(facts: Facts, time: IntervalSet, *, inflated: bool) -> tuple[str, ...]:
    """The caveats; none where guards of a compiler are most of the time."""
    if 2 * in_guards(facts, time).total_ns > time.total_ns:
        return ()
    caveats = []
    if shares_interpreter(facts):
        threads = count(facts.recording.collected.own_workers or 0, "thread")
        caveats.append(
            f"Meanwhile {threads} of this process make batches: part of it is waiting for the interpreter's lock."
        )
    if in_backward(facts, time):
        caveats.append(
            "Of a program only hooks run between nodes of the backward pass; where it has none, ops are missing from the trace, or "
            "the thread waited for a core or for the interpreter's lock."
        )
    if facts.health.launches_without_op >= WITHOUT_OP_RATIO:
        caveats.append(
            f"{share(facts.health.launches_without_op)} of the kernels are launched outside any op: ops that were not recorded, "
            "and extensions that launch by themselves, count as host code here."
        )
    if facts.model.may_serve:
        caveats.append("Where the program serves requests, waiting for the next one looks the same.")
    if inflated:
        caveats.append("Recording stacks slows Python down: without them the share is smaller.")
    trains = facts.model.may_train or not facts.model.infers
    loads = trains and not len(facts.input.wait) and not nothing_sent(facts)
    if loads and not in_update(facts, time) and not checkpoints.taken(facts, time):
        caveats.append("No DataLoader was seen: loading by other means would be part of this.")
    return tuple(caveats)


def inflated(facts: Facts, time: IntervalSet, limit: float) -> bool:
    """Whether so many Python calls a millisecond were recorded in this time that the recording is a good part of it."""
    return facts.host.calls_begun(time) > limit * time.total_ns / 1e6


def confidence(facts: Facts, *, named: bool, inflated: bool) -> Confidence:
    """How sure it is that the time can be saved: where a function is named, most."""
    if named:
        return Confidence.MEDIUM if inflated else Confidence.HIGH
    return Confidence.LOW if facts.health.launches_without_op >= WITHOUT_OP_RATIO else Confidence.MEDIUM
