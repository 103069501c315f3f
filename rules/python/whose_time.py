"""Whose code most of the time outside ops is, as far as stacks or samples tell: how it is named, and what is done about it."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from rules.python import called, in_framework, sampled
from rules.python.advice import move
from rules.python.between_ops import MOST


class Shown(msgspec.Struct, frozen=True):
    """The program's function that stacks show most of the time in.

    Args:
        function: The function.
        ns: How much of the time it is.
        starts: Whether it only calls the loop of a framework.
        below: The function of the framework's below which most of the time lies, as words; empty where it is no one function.
    """

    function: CodeLine
    ns: int
    starts: bool
    below: str


def shown(facts: Facts, time: IntervalSet, function: CodeLine, ns: int) -> Shown:
    """Looks at whether a function works itself, or starts what does."""
    starts = in_framework.only_starts(facts, function)
    return Shown(function, ns, starts, in_framework.below(facts, time) if starts else "")


def named(facts: Facts, time: IntervalSet, found: Shown) -> str:
    """Words to put behind the time: the function that most of it is in, and what that calls."""
    function = found.function
    most = "most" if found.ns > MOST * time.total_ns else "the largest part"
    where = f", {most} of it ({share(found.ns / time.total_ns)}) in `{function.function}` ({function.place})"
    below = f", below {found.below}" if found.below else ""
    return f"{where}{below}{called.sentence(facts, time, function)}"


def moved(facts: Facts, found: Shown | None, line: SampledLine | None, ratio: float) -> Advice | None:
    """What to do about the function that stacks show, or the line that was sampled; None where neither is known."""
    if found is None:
        return None if line is None else sampled.move(facts, line, ratio)
    return in_framework.look_below(facts, found.below) if found.starts else move(found.function)
