"""Evidence of PY001: whose lines the time outside any op lies in, or which ops it lies between."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Bar, Bars, Column, Evidence, Table
from analyzer.spans.intervals import IntervalSet

_SHOWN = 5


def evidence_of(facts: Facts, time: IntervalSet, places: list[tuple[CodeLine, int]]) -> tuple[Evidence, ...]:
    """The share of the step, and the places."""
    share_of_step = Bars(
        "mean step",
        "ns",
        (
            Bar("host code outside ops", facts.steps.per_step(time.total_ns)),
            Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - time.total_ns)),
        ),
    )
    if not places:
        rows = tuple(
            (one.before, one.after, facts.steps.per_step(one.stretches), facts.steps.per_step(one.total_ns))
            for one in facts.sync.silences(time)[:_SHOWN]
        )
        columns = (
            Column("after", "text"),
            Column("before", "text"),
            Column("times a step", "count"),
            Column("time a step", "ns"),
        )
        return (share_of_step, Table("where no op runs", columns, rows)) if rows else (share_of_step,)
    bars = tuple(Bar(f"{line.function} ({line.place})", facts.steps.per_step(ns)) for line, ns in places[:_SHOWN])
    return (share_of_step, Bars("your functions in that time (mean step)", "ns", bars))
