"""What is said and shown of launches that the device waits for."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.facts.host.dispatch_owner import DispatchOwner, OwningOp
from analyzer.finding import Bar, Bars, Column, Table
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, listed, share
from rules.python import called


def at_work(facts: Facts, ops: Sequence[OwningOp]) -> str:
    """In which ops the host is at work, how often and how long each."""
    whose = "" if any(op.launched_by for op in ops) else f": {'its' if len(ops) == 1 else 'their'} own work on the host"
    return f"{listed([f'inside `{op.name}`, {_calls(facts, op)}' for op in ops])}{whose}"


def _calls(facts: Facts, op: OwningOp) -> str:
    """How often an op is called, and how long a call takes."""
    others = f", the first of {op.calls + op.others:,}" if op.building else ""
    launch = f", most of it in `{op.launched_by}` itself" if op.launched_by not in (None, op.name) else ""
    return f"{_how_often(facts, op)} of {duration(op.each_ns)}{others}{launch}"


def _how_often(facts: Facts, op: OwningOp) -> str:
    return f"{count(max(round(facts.steps.per_step(op.calls)), 1), 'call')} {facts.steps.a_unit}"


def after_launch(lead_ns: int | None) -> str:
    """When kernels start, beside the end of their launch."""
    return f"{duration(lead_ns)} after its launch returns" if lead_ns else "before its launch returns"


def owned(facts: Facts, owner: DispatchOwner | None) -> str:
    """Which op the time belongs to, or how a few divide it, a sentence for each."""
    return "".join(_owned(facts, op) for op in owner.ops) if owner is not None else ""


def _owned(facts: Facts, op: OwningOp) -> str:
    told = f" {share(op.part)} of that time lies inside `{op.name}`"
    if not op.works:
        return f"{told}, {_how_often(facts, op)}."
    return f"{told}, {_calls(facts, op)}{'' if op.launched_by else ': its own work on the host'}."


def within(facts: Facts, time: IntervalSet) -> str:
    """In which function most of that time lies, where stacks tell, as a sentence; empty where none holds most of it."""
    main = facts.host.main_thread
    places = facts.host.stacks.inside(main, time) if main is not None else []
    if not places or 2 * places[0][1] < time.total_ns:
        return ""
    line, ns = places[0]
    return f" {share(ns / time.total_ns)} of that lies in `{line.function}` ({line.place}){called.sentence(facts, time, line)}."


def skew(facts: Facts) -> tuple[str, ...]:
    """A caveat where clocks differ; empty where they agree."""
    if not facts.time.skew_ns:
        return ()
    return (
        f"The clocks of host and device differ by {duration(facts.time.skew_ns)} or more (PG008): little beside "
        "the gaps, which are "
        f"{duration(facts.time.idle.total_ns / max(len(facts.time.idle), 1))} long in the mean.",
    )


def evidence(facts: Facts) -> tuple[Bars, Table]:
    """How much of the step the device works, and figures of launching."""
    usual = facts.time.usual_launch
    busy = max(facts.steps.total_ns - facts.time.idle.total_ns, 0)
    rows = (
        ("kernels a step", round(facts.steps.per_step(usual.kernels)), None),
        ("median kernel", None, usual.kernel_ns),
        ("median launch call", None, usual.call_ns),
        ("host time per kernel", None, int(facts.steps.total_ns / max(usual.kernels, 1))),
        ("median launch lead", None, facts.time.lead_ns),
    )
    return (
        Bars(
            "mean step",
            "ns",
            (
                Bar("GPU works", facts.steps.per_step(busy)),
                Bar("GPU idles", facts.steps.per_step(facts.time.idle.total_ns)),
            ),
        ),
        Table("launching", (Column("what", "text"), Column("count", "count"), Column("time", "ns")), rows),
    )
