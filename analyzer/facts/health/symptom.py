"""One reason to doubt a trace."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from analyzer.spans.intervals import IntervalSet


class Gravity(IntEnum):
    """How much a symptom weighs: worth knowing, a reason for caution, or the end of all advice."""

    NOTE = 0
    CAUTION = 1
    UNUSABLE = 2


class Symptom(msgspec.Struct, frozen=True):
    """One reason to doubt a trace.

    Args:
        code: `PG001` ... `PG008`; None for a reason without a rule of its own (repairs).
        gravity: What it does to the verdict.
        message: What was measured, one sentence, with numbers.
        fix: How to record better next time; None where nothing need be done.
        count: Events, calls or steps concerned.
        ratio: Share of the window concerned, where that is a time; else None.
        passes: Whether other steps of the same run may well be without it.
        touches: Causes of the waterfall whose time it makes doubtful; None for all figures.
        taken_ratio: Share of the steps in which something else kept the program from running, whatever it was at; else None.
        time: The time that it adds to the steps, where that is all that is wrong with them; else None.
    """

    code: str | None
    gravity: Gravity
    message: str
    fix: str | None
    count: int
    ratio: float | None = None
    passes: bool = False
    touches: tuple[str, ...] | None = None
    time: IntervalSet | None = None
    taken_ratio: float | None = None
