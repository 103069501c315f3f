"""What the rules on waiting calls share: shares, places, evidence."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Bar, Bars, Column, Confidence, Evidence, Finding, Saving, Table
from analyzer.rule import Threshold
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import count, duration, listed, share
from rules.place import location, named
from rules.python.advice import engine_ahead

# Idle time that the host fills with its own work, and could have filled earlier.
_OWN_WORK = ("launch", "framework", "optimizer", "python")
# Behind what was copied to the host its other work may need what was copied: only what it launches is surely no part of that.
_LAUNCHING = ("launch", "framework", "optimizer")

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
BEHIND_RATIO = Threshold(
    "behind_ratio",
    0.05,
    "ratio",
    "5 % of the step, from which a wait is worth a note: the idle time lies behind the calls, where other causes have a part",
)
_MAY_WAIT = (
    "Behind these calls the host is outside any op. Where it waits there itself, as for data that other processes prepare too "
    "slowly, the data comes when it comes: then these calls cost nothing."
)
_MAX_ROWS = 5
# As long as this a wait is seen in any viewer, and asked about.
_WORTH_A_NOTE = 0.05
# Waits that the program asks for and that have a rule each: the rule, and what the program does.
_ASKED = {
    "scalar": ("SY001", "reading single values off the device"),
    "shape": ("SY004", "asking for sizes that only the device knows"),
    "copy_out": ("SY002", "copying from the device to the host"),
    "explicit": ("SY003", "synchronising with the device"),
}


def idle_behind(facts: Facts, *reasons: str) -> IntervalSet:
    """Device-idle time in which the host does what it would have done while it waited, had it not waited.

    The host stands in a call while the device computes what is queued. When the device is done nothing is queued behind it, and it
    idles while the host goes on. Of that as much counts as the host waited, up to its next wait for another reason. What a profiler
    does is not the program's, and what others hand over comes when it comes. Behind copies to the host only what launches counts.

    Args:
        facts: The measurements.
        reasons: Of the calls.
    """
    causes = _LAUNCHING if "copy_out" in reasons else _OWN_WORK
    own = facts.time.waterfall.owned(*causes) - facts.host.profiler_calls - facts.time.waiting_for_work
    if "copy_out" not in reasons and facts.input.wait.single_process and not facts.input.wait.multi_process:
        # The loop makes its batches itself. One that workers make comes when it comes.
        own |= facts.input.wait.owned
    if "copy_out" in reasons:
        owner = facts.host.dispatch_owner(facts.sync.removable(*reasons) & own)
        own = EMPTY if owner is not None and owner.works else own
    return facts.sync.removable(*reasons) & (own | facts.sync.waits.owned(*reasons))


def fires(facts: Facts, reason: str, min_ratio: float, behind_ratio: float) -> bool:
    """Whether calls of a reason own enough idle time, or leave enough of it behind them."""
    owned = facts.steps.ratio(facts.sync.waits.owned(reason).total_ns)
    return owned >= min_ratio or facts.steps.ratio(idle_behind(facts, reason).total_ns) >= behind_ratio


def with_others(facts: Facts, reason: str, behind_ratio: float) -> tuple[str, ...]:
    """Finds the further reasons of waits that have to go together with those of a reason; empty where another one leads, or none.

    Of two waits in a row the second finds the queue that the first one left empty, and the first leaves nothing behind that the
    second would not: alone neither brings anything. The reason that the host waits longest for is the one that leads.

    Args:
        facts: The measurements.
        reason: Of the calls.
        behind_ratio: The share of the steps that the device has to idle behind them all, and behind those of no single reason.
    """
    asked = _asked(facts)
    if len(asked) < 2 or reason != max(asked, key=lambda one: facts.sync.free_ns(one)):
        return ()
    if any(facts.steps.ratio(idle_behind(facts, one).total_ns) >= behind_ratio for one in asked):
        return ()
    together = facts.steps.ratio(idle_behind(facts, *asked).total_ns)
    return tuple(one for one in asked if one != reason) if together >= behind_ratio else ()


def _asked(facts: Facts) -> tuple[str, ...]:
    """The reasons of waits that the program could do without; a wait that it needs is in nobody's way."""
    return tuple(one for one in _ASKED if len(calls := facts.sync.waits.of(one)) and not _needed(facts, one, calls))


def _needed(facts: Facts, reason: str, calls: WaitingCalls) -> bool:
    """Whether most of the calls are asked for by what needs them: an update on the host, an answer, an autotuner."""
    if reason == "copy_out":
        returns = facts.transfer.there_and_back or facts.transfer.activations_saved
        return bool(returns) or facts.model.optimizing.on_host or facts.model.infers
    if reason != "explicit":
        return False
    timed = calls.inside(facts.kernels.timed_runs.host).blocked_ns
    return calls.collective is not None or 2 * max(timed, facts.sync.awaited_copies.blocked_ns) > calls.blocked_ns


def _and_others(also: tuple[str, ...]) -> str:
    """What else the program waits for, as the end of what it does; empty where nothing."""
    return f"; and {listed([_ASKED[one][1] for one in also])}, where it waits as well" if also else ""


def _all_of_them(also: tuple[str, ...]) -> tuple[Advice, ...]:
    """That the other waits have to go as well; nothing where there are none."""
    if not also:
        return ()
    pages = listed([f"`advisor rule {_ASKED[one][0]}`" for one in also])
    return (
        Advice(
            "text",
            f"Then the other waits: {listed([_ASKED[one][1] for one in also])} (fixes: {pages}).",
            "Each of them empties the device's queue by itself: one that stays costs nearly as much as all.",
        ),
    )


def finding(
    facts: Facts,
    calls: WaitingCalls,
    reason: str,
    what: str,
    fix: tuple[Advice, ...],
    verify: str,
    caveats: tuple[str, ...] = (),
    copied: IntervalSet = EMPTY,
    also: tuple[str, ...] = (),
) -> Finding:
    """A finding on waiting calls of one reason.

    Args:
        facts: The measurements.
        calls: The calls of the reason, from `facts.sync.waits`.
        reason: Their reason.
        what: What the program does, as the subject's cause: `reading single values off the device`.
        fix: What to change.
        verify: How to see that it worked.
        caveats: When this may be a false alarm here.
        copied: When the device does nothing but the copies that the calls wait for, as far as they could go.
        also: Reasons of further waits that have to go with them, from `with_others`.
    """
    if also:
        calls = facts.sync.waits.of(reason, *also)
    idle = facts.sync.waits.owned(reason, *also)
    behind = EMPTY if copied else idle_behind(facts, reason, *also)
    # What lies inside the calls is the smaller part: then it is what they leave behind that is told.
    leaves = 2 * idle.total_ns < behind.total_ns
    claims = behind if leaves else idle | copied
    unseen = leaves and _unseen(facts, behind)
    line = facts.sync.line_of(calls)
    because = (
        f"because the host waited{named(line)} until it was done, and had queued nothing behind"
        if leaves
        else f"{'while' if copied else 'because'} the host waits for it{named(line)}"
    )
    return Finding(
        why=(
            f"The GPU {_doing(facts, claims if leaves else idle, copied)} of {facts.steps.each} "
            f"({share(facts.steps.ratio(claims.total_ns))}) {because}: "
            f"{what}{_and_others(also)} "
            f"({_often(facts, calls)}, the host is blocked for "
            f"{duration(facts.steps.per_step(calls.blocked_ns))} {facts.steps.a_unit})."
        ),
        saving=Saving(
            claims=facts.sync.removable(reason, *also, copied=copied) | copied,
            usual_claims=claims,
            basis=f"{BASIS}{_AND_COPIES if copied else ''}",
        ),
        fix=_of_engine(facts, calls, claims) + fix + _all_of_them(also),
        verify=verify,
        steps_seen=facts.steps.count_with(claims),
        evidence=_evidence(facts, calls, behind if leaves else EMPTY),
        confidence=Confidence.MEDIUM if unseen else Confidence.HIGH,
        location=location(line),
        caveats=(_MAY_WAIT, *caveats) if unseen else caveats,
    )


def _of_engine(facts: Facts, calls: WaitingCalls, claims: IntervalSet) -> tuple[Advice, ...]:
    """An engine's own setting in front of a change of its code: where the host waits for each pass's tokens, and no more often."""
    ahead = engine_ahead(facts, claims) if calls.waits <= facts.steps.count else None
    return () if ahead is None else (ahead,)


def _unseen(facts: Facts, behind: IntervalSet) -> bool:
    """Whether most of what the host does behind the calls lies outside any op, and no stack says what it is."""
    outside = facts.time.waterfall.owned("python") & behind
    return not facts.host.stacks.known and 2 * outside.total_ns > behind.total_ns


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
    others = tuple(one for one in _asked(facts) if one != reason)
    with_them = facts.steps.ratio(facts.sync.removable(reason, *others).total_ns)
    if after < MIN_RATIO.value <= with_them:
        said = listed([_ASKED[one][1] for one in others])
        return (
            f"; the host stands in them for {share(free)} of the step while the GPU computes what they wait for: without them it "
            f"would wait in others ({said}), and behind them all the GPU idles for {share(with_them)}"
        )
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


def _evidence(facts: Facts, calls: WaitingCalls, behind: IntervalSet) -> tuple[Evidence, ...]:
    """How long the host stands in the calls, and the device idles for it.

    Args:
        facts: The measurements.
        calls: The calls.
        behind: Device-idle time in and behind them, where that is what is told.
    """
    idle = facts.steps.per_step(calls.idle_ns)
    blocked = facts.steps.per_step(calls.blocked_ns)
    because = [Bar("device idle because of it", idle)]
    if behind:
        rest = facts.steps.per_step(behind.total_ns) - idle
        because = [Bar("device idle to the next kernel", idle), Bar("device idle after that", max(rest, 0))]
    columns = (
        Column("op", "text"),
        Column("call", "text"),
        Column("calls", "count"),
        Column("host blocked", "ns"),
        Column("device idle to the next kernel" if behind else "device idle", "ns"),
    )
    return (
        Bars("mean step", "ns", (Bar("host blocked", blocked), *because)),
        Table("calls that wait, all used steps", columns, tuple(calls.by_op()[:_MAX_ROWS])),
    )
