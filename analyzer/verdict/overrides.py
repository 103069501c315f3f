"""What the shares alone cannot know: one line each, the first that applies has the last word on the verdict."""

from __future__ import annotations

from collections.abc import Callable

from analyzer.analysis import BoundBy, Verdict
from analyzer.facts import Facts
from analyzer.facts.device.launches import BLOCKING_RATIO
from analyzer.facts.host.dispatch_owner import OwningOp, dispatch_owner
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, listed, share
from analyzer.verdict.border import at_the_border
from analyzer.verdict.case import Case
from analyzer.verdict.in_gloo import in_gloo
from analyzer.verdict.left_open import device_not_recorded, host_not_recorded, in_doubt, ops_left_out, too_little
from analyzer.verdict.op_by_op import op_by_op
from analyzer.verdict.shares import BOUND_PART_OF_LOSS, BOUND_RATIO

# Where more than this part of the compute may be waiting for a core, nobody saw how long the model takes by itself.
_DOUBTFUL_PART = 0.5
# Fewer launches say nothing about a setting of the process (SY005).
_MIN_LAUNCHES = 20

# What is inferred from where the host is while nothing else is known of an idle device; on a device, and without one.
_INFERRED: dict[BoundBy, tuple[str, str]] = {
    "launch": (
        "the device idles while the host is inside ops or calls, but nothing shows that launches are what it waits for",
        "the host is inside ops or calls, but nothing shows that dispatching them is what takes long",
    ),
    "python": (
        "the device idles while the host is outside any op, but nothing shows that it waits for the program's own code",
        "the program is outside any op, but nothing shows that this is the program's own code",
    ),
}
# Causes of launching on the host, as the verdict groups them.
_DISPATCH = ("launch", "framework", "optimizer")


def _only_collectives(case: Case) -> Verdict | None:
    facts = case.facts
    if (
        case.found.bound_by != "communication"
        or facts.device.main is not None
        or facts.health.sparse_host_events is None
    ):
        return None
    text = (
        f"Communication-bound, as far as the trace shows: {share(case.found.ratio)} of the step is inside collectives; what the "
        "training thread does beside them was not recorded."
    )
    return case.says("communication", text)


def _without_ops(case: Case) -> Verdict | None:
    if case.found.bound_by != "python" or case.facts.health.sparse_host_events is None:
        return None
    text = (
        f"Unclear: for {share(case.found.ratio)} of the step the trace holds no op; it was filtered or cut, "
        "or other threads work."
    )
    return case.says("unknown", text)


def _without_core(case: Case) -> Verdict | None:
    if _is_of_its_own(case):
        return None
    where = "outside any op" if case.found.bound_by == "python" else "inside ops"
    text = (
        f"Unclear: for {share(case.found.ratio)} of the step the program is {where}, but the thread "
        f"{case.facts.time.core_words} of it; record on a quiet machine."
    )
    return case.says("unknown", text)


def _is_of_its_own(case: Case) -> bool:
    """Whether the run is bound so even if all time without a core lay in what it is said to be bound by."""
    facts, found = case.facts, case.found
    lacked = facts.steps.ratio(facts.time.without_core_ns)
    if found.bound_by == "python":
        # Without a core ops take longer as much as what is between them: the part that is ops in loops stays what it is.
        return found.ratio - min(lacked, found.ratio - facts.steps.ratio(case.loops_ns)) >= BOUND_RATIO
    if found.bound_by == "compute" and facts.device.main is None:
        return lacked <= _DOUBTFUL_PART * found.ratio
    return True


def _searching(case: Case) -> Verdict | None:
    """Where most of what is lost, or computed, is candidates of a search: no model is computed by them."""
    facts, evidence = case.facts, case.evidence.get("compile")
    if evidence is None or not evidence.fired:
        return None
    found, timed = facts.kernels.searches, facts.kernels.timed_runs
    ratio = facts.steps.ratio((found.spans | timed.spans).total_ns)
    total = sum(case.totals.values())
    rest = case.totals.get("compute", 0) / total - ratio if total else 0.0
    if ratio < BOUND_RATIO or ratio < rest:
        return None
    what, steps_seen = (
        ("matrix ops try algorithms", found.steps_seen)
        if found.spans.total_ns >= timed.spans.total_ns
        else ("an autotuner times kernels", timed.steps_seen)
    )
    text = (
        f"Bound by searches: for {share(ratio)} of the step {what}, which compute nothing of the model, in "
        f"{steps_seen} of {facts.steps.count} steps."
    )
    return Verdict(bound_by="compile", ratio=ratio, text=text)


def _waiting_launches(case: Case) -> Verdict | None:
    blocking = case.facts.time.blocking_launches
    few = blocking.launches < _MIN_LAUNCHES or blocking.ratio < BLOCKING_RATIO
    if case.found.bound_by not in ("launch", "python") or few:
        return None
    text = (
        f"Sync-bound: {share(blocking.ratio)} of the launches wait for their kernel, so the host's work and the "
        f"device's never overlap: for {share(case.found.ratio)} of the step the device idles."
    )
    return case.says("sync", text)


def _waiting_for_work(case: Case) -> Verdict | None:
    """A server without requests is bound by nothing: what binds it under load was not recorded."""
    waiting, found = case.facts.time.waiting_for_work, case.found
    ratio = case.facts.steps.ratio(waiting.total_ns)
    if found.bound_by not in ("python", "unknown") or ratio < BOUND_RATIO or 2 * ratio < found.ratio:
        return None
    text = (
        f"Waiting for work: for {share(ratio)} of the step the program waits for what another thread or process hands over, as a "
        "server does for requests; what binds it under load a recording under load tells."
    )
    return Verdict(bound_by="unknown", ratio=ratio, text=text)


def _by_pauses(case: Case) -> Verdict | None:
    facts = case.facts
    if case.found.bound_by != "python":
        return None
    stops = facts.time.pauses.collected | facts.time.pauses.isolated
    if facts.steps.ratio(stops.total_ns - case.seldom_ns) < case.found.ratio / 2:
        return None
    python = facts.time.pauses.collected or facts.time.known_activity(stops) is not None
    share_of = share(facts.steps.ratio(stops.total_ns))
    text = (
        f"{'Python-bound' if python else 'Held up'} by pauses: for {share_of} of the recorded time the program stops, in "
        f"{facts.steps.count_with(stops)} of {facts.steps.count} steps; the other steps do not stop."
    )
    return case.says("python", text)


def _waiting_for_requests(case: Case) -> Verdict | None:
    if case.found.bound_by != "python" or not case.facts.model.may_serve:
        return None
    text = f"{case.found.text} Or it waits for requests: without step marks the trace cannot tell."
    return case.says("python", text)


def _without_evidence(case: Case) -> Verdict | None:
    """A verdict needs the evidence of the rules that measure it.

    A bound that the trace shows by itself, as a loader's call, keeps its name, and says that no rule finds what to change. One that
    is inferred from where the host is meanwhile does not.
    """
    evidence = case.evidence.get(case.found.bound_by)
    if evidence is None or evidence.fired:
        return None
    reason = evidence.reason.removesuffix(".")
    if case.found.bound_by not in _INFERRED:
        return case.says(
            case.found.bound_by,
            f"{case.found.text.removesuffix('.')}; no check finds what of it could be changed: {reason}.",
        )
    on_device, on_host = _INFERRED[case.found.bound_by]
    where = on_host if case.facts.device.main is None else on_device
    text = f"Unclear: for {share(case.found.ratio)} of the step {where}: {reason}."
    return case.says("unknown", text)


def _after_reads(case: Case) -> Verdict | None:
    """Where most of the host's own code follows values that it read off the device, and waited for as long.

    What it did not wait for stays as it is without the reads: the host is no earlier.
    """
    if case.found.bound_by != "python" or case.facts.device.main is None:
        return None
    outside = case.facts.time.waterfall.owned("python")
    read = case.facts.sync.after_reads(outside) & case.facts.sync.removable("scalar", "copy_out")
    if 2 * read.total_ns <= outside.total_ns:
        return None
    head, semicolon, rest = case.found.text.removesuffix(".").partition(";")
    head = head.removesuffix(", its largest loss")
    largest = ", its largest loss" if case.found.text.startswith(f"{head}, its") else ""
    return case.says("python", f"{head}, most of it after it read values off the GPU{largest}{semicolon}{rest}.")


def _one_op(case: Case) -> Verdict | None:
    """The op that most of the dispatching is, or the few."""
    if case.found.bound_by != "launch":
        return None
    owner = dispatch_owner(case.facts.trace, case.facts.device, case.facts.host.ops, _dispatch(case.facts))
    if owner is None:
        return None
    inside = _divided(owner.ops)
    if owner.works:
        text = (
            f"Held up on the host: for {share(case.found.ratio)} of the step the device idles while the host is at work for it, "
            f"{inside}."
        )
        return case.says("launch", text)
    head, semicolon, rest = case.found.text.removesuffix(".").partition(";")
    return case.says("launch", f"{head}, {inside}{semicolon}{rest}.")


def _divided(ops: tuple[OwningOp, ...]) -> str:
    """How much of the time lies in each op, and how long a call takes of one that works on the host."""
    return listed(
        [
            f"{share(op.part)} of that inside `{op.name}`{f', {duration(op.each_ns)} a call' if op.works else ''}"
            for op in ops
        ]
    )


def _after_waits(case: Case) -> Verdict | None:
    """Where most of the dispatching follows waits for the device, which the host could have dispatched beside."""
    if case.found.bound_by != "launch" or case.facts.device.main is None:
        return None
    idle = _dispatch(case.facts)
    if 2 * (case.facts.sync.programs_removable & idle).total_ns <= idle.total_ns:
        return None
    head, semicolon, rest = case.found.text.removesuffix(".").partition(";")
    head = head.removesuffix(", its largest loss")
    largest = ", its largest loss" if case.found.text.startswith(f"{head}, its") else ""
    return case.says("launch", f"{head}, most of it after it waited for the GPU{largest}{semicolon}{rest}.")


def _held_up(case: Case) -> Verdict | None:
    """What a rule finds the host at work on, though its queue is filled in between: single stalls that do have a name."""
    evidence, totals = case.evidence.get("launch"), case.totals
    if case.found.bound_by not in ("unknown", "mixed") or evidence is None or not evidence.fired:
        return None
    total = sum(totals.values())
    part = sum(totals.get(cause, 0) for cause in _DISPATCH) / total if total else 0.0
    loss = 1 - totals.get("compute", 0) / total if total else 0.0
    if (
        part < BOUND_RATIO
        or part < BOUND_PART_OF_LOSS * loss
        or (evidence.claims & _dispatch(case.facts)).total_ns < part * total / 2
    ):
        return None
    owner = dispatch_owner(case.facts.trace, case.facts.device, case.facts.host.ops, _dispatch(case.facts))
    if owner is not None and owner.works:
        at_work = f"is at work for it, {_divided(owner.at_work)}"
    elif totals.get("optimizer", 0) > part * total / 2:
        at_work = "runs the optimizer"
    else:
        return None
    text = f"Held up on the host: for {share(part)} of the step the device idles while the host {at_work}."
    return Verdict(bound_by="launch", ratio=part, text=text)


def _dispatch(facts: Facts) -> IntervalSet:
    """Idle time in which the host works for the device."""
    return facts.time.waterfall.owned(*_DISPATCH)


OVERRIDES: tuple[Callable[[Case], Verdict | None], ...] = (
    too_little,
    in_doubt,
    device_not_recorded,
    host_not_recorded,
    ops_left_out,
    _only_collectives,
    _without_ops,
    in_gloo,
    _without_core,
    _searching,
    _waiting_launches,
    _waiting_for_work,
    _by_pauses,
    _waiting_for_requests,
    _without_evidence,
    op_by_op,
    _after_reads,
    _one_op,
    _after_waits,
    _held_up,
    at_the_border,
)
