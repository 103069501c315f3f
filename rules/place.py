"""A place in the user's code as findings name it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Location
from analyzer.spans.intervals import IntervalSet


def location(line: CodeLine | None) -> Location | None:
    """The contract's form of a recorded line."""
    return None if line is None else Location(line.file, line.line, line.function, line.begins)


def named(line: CodeLine | None) -> str:
    """Words to put behind a cause: ` in `step` (train.py:88)`; empty where the line is unknown."""
    return "" if line is None else f" in `{line.function}` ({line.place})"


def line_of(facts: Facts, time: IntervalSet) -> CodeLine | None:
    """The user's line on the main thread that holds most of a time."""
    main = facts.host.main_thread
    if main is None or not time:
        return None
    # At its start what holds the time may not have been called yet.
    inside = facts.host.stacks.inside(main, time)
    if inside:
        return inside[0][0]
    weight = time.end_ns - time.start_ns
    return facts.host.stacks.commonest([main] * len(time), time.start_ns, main, weight, until_ns=time.end_ns)
