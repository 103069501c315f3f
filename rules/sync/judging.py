"""What the rules on waiting calls share: shares, places, evidence."""

from __future__ import annotations

import pandas as pd

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Advice, Bar, Bars, Column, Evidence, Finding, Saving, Table
from analyzer.rule import Threshold
from analyzer.units import count, duration, share
from rules.place import location, named

BASIS = (
    "device-idle time inside these calls, and after them until the next kernel while the host catches up; "
    "per call never more than the call lasted"
)
MIN_RATIO = Threshold(
    "min_ratio",
    0.02,
    "ratio",
    "below 2 % of the step a finding goes on no card (rules.md, presentation); medium and high follow at 10 and 20 %",
)
_MAX_ROWS = 5


def line_of(facts: Facts, calls: pd.DataFrame) -> CodeLine | None:
    """The user's line that most of the lost time of these calls comes from."""
    weight = calls["idle_ns"].to_numpy() + 1
    return facts.host.stacks.commonest(
        calls["thread"].to_numpy(), calls["start_ns"].to_numpy(), facts.host.main_thread, weight
    )


def finding(
    facts: Facts,
    calls: pd.DataFrame,
    reason: str,
    what: str,
    fix: tuple[Advice, ...],
    verify: str,
    caveats: tuple[str, ...] = (),
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
    """
    claims = facts.sync.waits.owned(reason)
    line = line_of(facts, calls)
    return Finding(
        why=(
            f"The GPU idles {duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} "
            f"({share(facts.steps.ratio(claims.total_ns))}) because the host waits for it{named(line)}: {what} "
            f"({_often(facts, calls)}, the host is blocked for "
            f"{duration(facts.steps.per_step(calls['dur_ns'].sum()))} {facts.steps.a_unit})."
        ),
        saving=Saving(claims=claims, basis=BASIS),
        fix=fix,
        verify=verify,
        steps_seen=facts.steps.count_with(claims),
        evidence=_evidence(facts, calls),
        location=location(line),
        caveats=caveats,
    )


def _often(facts: Facts, calls: pd.DataFrame) -> str:
    """How often it happens; the copy and the synchronisation of one op are one wait."""
    number = int(calls["unit"].nunique())
    if number % facts.steps.count:
        return f"{count(number, 'time')} in {count(facts.steps.count, 'step')}"
    return (
        f"once {facts.steps.a_unit}"
        if number == facts.steps.count
        else f"{number // facts.steps.count:,} times {facts.steps.a_unit}"
    )


def _evidence(facts: Facts, calls: pd.DataFrame) -> tuple[Evidence, ...]:
    idle = facts.steps.per_step(calls["idle_ns"].sum())
    blocked = facts.steps.per_step(calls["dur_ns"].sum())
    ops = calls["op"].where(calls["op"] != "", "(no op)")
    groups = (
        calls.assign(op=ops)
        .groupby(["op", "name"], sort=True, observed=True)[["dur_ns", "idle_ns"]]
        .agg(["size", "sum"])
    )
    rows = sorted(
        (
            (str(op), str(name), int(row[0]), int(row[1]), int(row[3]))
            for (op, name), row in zip(groups.index, groups.to_numpy(), strict=True)
        ),
        key=lambda row: (-row[4], row),
    )
    columns = (
        Column("op", "text"),
        Column("call", "text"),
        Column("calls", "count"),
        Column("host blocked", "ns"),
        Column("device idle", "ns"),
    )
    return (
        Bars("mean step", "ns", (Bar("host blocked", blocked), Bar("device idle because of it", idle))),
        Table("calls that wait, all used steps", columns, tuple(rows[:_MAX_ROWS])),
    )
