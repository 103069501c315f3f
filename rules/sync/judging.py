"""What the rules on waiting calls share: shares, places, evidence."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Bar, Bars, Column, Evidence, Finding, Saving, Table
from analyzer.rule import Threshold
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import count, duration, share
from rules.place import location, named

BASIS = (
    "device-idle time from these calls on, which the host would spend beside the device, never more than they lasted; likely is "
    "what lies inside them, and after them until the next kernel"
)
_AND_COPIES = "; and the copies, where nothing is computed beside them"
MIN_RATIO = Threshold(
    "min_ratio",
    0.02,
    "ratio",
    "below 2 % of the step a finding goes on no card (rules.md, presentation); medium and high follow at 10 and 20 %",
)
_MAX_ROWS = 5
# As long as this a wait is seen in any viewer, and asked about.
_WORTH_A_NOTE = 0.05


def finding(
    facts: Facts,
    calls: WaitingCalls,
    reason: str,
    what: str,
    fix: tuple[Advice, ...],
    verify: str,
    caveats: tuple[str, ...] = (),
    copied: IntervalSet = EMPTY,
) -> Finding:
    """A finding on waiting calls of one reason.

    Args:
        facts: The measurements.
        calls: The calls, from `facts.sync.waits`.
        reason: Their reason.
        what: What the program does, as the subject's cause: `reading single values off the device`.
        fix: What to change.
        verify: How to see that it worked.
        caveats: When this may be a false alarm here.
        copied: When the device does nothing but the copies that the calls wait for, as far as they could go.
    """
    idle = facts.sync.waits.owned(reason)
    claims = idle | copied
    line = facts.sync.line_of(calls)
    return Finding(
        why=(
            f"The GPU {_doing(facts, idle, copied)} of {facts.steps.each} "
            f"({share(facts.steps.ratio(claims.total_ns))}) {'while' if copied else 'because'} the host waits for it{named(line)}: "
            f"{what} "
            f"({_often(facts, calls)}, the host is blocked for "
            f"{duration(facts.steps.per_step(calls.blocked_ns))} {facts.steps.a_unit})."
        ),
        saving=Saving(
            claims=facts.sync.removable(reason, copied=copied) | copied,
            usual_claims=claims,
            basis=f"{BASIS}{_AND_COPIES if copied else ''}",
        ),
        fix=fix,
        verify=verify,
        steps_seen=facts.steps.count_with(claims),
        evidence=_evidence(facts, calls),
        location=location(line),
        caveats=caveats,
    )


def _doing(facts: Facts, idle: IntervalSet, copied: IntervalSet) -> str:
    """What the device does meanwhile: it idles, or there is nothing but the copy."""
    idles = f"idles {duration(facts.steps.per_step(idle.total_ns))}"
    if not copied:
        return idles
    copies = f"only copies for {duration(facts.steps.per_step(copied.total_ns))}"
    return f"{idles} and {copies}" if idle else copies


def beside_work(facts: Facts, reason: str) -> str:
    """What waiting beside a busy device comes to, as the end of a sentence; empty where it is little.

    It loses nothing by itself: what the host does next may, where the device idles for it.
    """
    free = facts.steps.ratio(facts.sync.free_ns(reason))
    if free < _WORTH_A_NOTE:
        return ""
    after = facts.steps.ratio(facts.sync.removable(reason).total_ns)
    then = (
        f"behind them the GPU idles for {share(after)} of the step while the host goes on, which could be beside the GPU's work"
        if after >= MIN_RATIO.value
        else "that loses nothing, as the GPU gets its next work in time"
    )
    return f"; the host stands in them for {share(free)} of the step while the GPU computes what they wait for: {then}"


def _often(facts: Facts, calls: WaitingCalls) -> str:
    """How often it happens; the copy and the synchronisation of one op are one wait."""
    number = calls.waits
    if number % facts.steps.count:
        return f"{count(number, 'time')} in {count(facts.steps.count, 'step')}"
    return (
        f"once {facts.steps.a_unit}"
        if number == facts.steps.count
        else f"{number // facts.steps.count:,} times {facts.steps.a_unit}"
    )


def _evidence(facts: Facts, calls: WaitingCalls) -> tuple[Evidence, ...]:
    idle = facts.steps.per_step(calls.idle_ns)
    blocked = facts.steps.per_step(calls.blocked_ns)
    columns = (
        Column("op", "text"),
        Column("call", "text"),
        Column("calls", "count"),
        Column("host blocked", "ns"),
        Column("device idle", "ns"),
    )
    return (
        Bars("mean step", "ns", (Bar("host blocked", blocked), Bar("device idle because of it", idle))),
        Table("calls that wait, all used steps", columns, tuple(calls.by_op()[:_MAX_ROWS])),
    )
