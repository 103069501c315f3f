"""How to analyse. In a module of its own: the first screen is up before what analyses is imported."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from analyzer.analysis.finding import Calibrated


class Options(msgspec.Struct, frozen=True):
    """How to analyse.

    Args:
        select: Codes or prefixes of codes to run; empty for all.
        ignore: Codes or prefixes of codes not to run.
        steps: First and last ProfilerStep number to use, inclusive.
        limits: Thresholds by rule code and name that replace the defaults.
        accepted: Reasons by id of the findings the team lives with.
        deep: Whether to add what HolisticTraceAnalysis says; takes seconds.
        strict: Refuse a trace that has to be repaired.
        cached: Whether the columns of large traces are kept for the next time, and taken from there.
        calibrated: What measured pairs say of the figures that rules state; empty where nobody asks.
        rule_seconds: How long one rule may take; None for what the engine allows.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    steps: tuple[int, int] | None = None
    limits: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    accepted: Mapping[str, str] = msgspec.field(default_factory=dict)
    deep: bool = False
    strict: bool = False
    cached: bool = False
    calibrated: tuple[Calibrated, ...] = ()
    rule_seconds: float | None = None
