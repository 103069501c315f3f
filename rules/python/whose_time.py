"""Whose code most of the time outside ops is, as far as stacks or samples tell: how it is named, and what is done about it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from rules.python import called, in_framework, sampled
from rules.python.advice import move
from rules.python.between_ops import MOST


def named(facts: Facts, time: IntervalSet, function: CodeLine, ns: int) -> str:
    """Words to put behind the time: the function that most of it is in, and what that calls."""
    most = "most" if ns > MOST * time.total_ns else "the largest part"
    where = f", {most} of it ({share(ns / time.total_ns)}) in `{function.function}` ({function.place})"
    return f"{where}{in_framework.branches(facts, time, function)}{called.sentence(facts, time, function)}"


def moved(
    facts: Facts, time: IntervalSet, function: CodeLine | None, line: SampledLine | None, ratio: float
) -> Advice | None:
    """What to do about the function that stacks show, or the line that was sampled; None where neither is known."""
    if function is None:
        return None if line is None else sampled.move(facts, line, ratio)
    return in_framework.look_below(facts, time) if in_framework.only_starts(facts, function) else move(function)
