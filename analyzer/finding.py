"""What a rule says: findings, their evidence, their saving and their fix; or why there is none.

Everything is frozen and holds numbers, not text made of numbers: the reports round.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

import msgspec

from analyzer.intervals import EMPTY, IntervalSet

Unit = Literal["ns", "bytes", "ratio", "count", "text"]


class Severity(str, Enum):
    """How much a finding's saving is of the step: high >= 20 %, medium >= 10 %, low >= 5 %, info below."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Confidence(str, Enum):
    """How sure we are of the cause: high is direct evidence over at least three steps of a trusted trace."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class State(str, Enum):
    """What became of one rule on one trace."""

    FIRED = "fired"
    CLEAR = "clear"
    NOT_APPLICABLE = "not_applicable"
    CANNOT_TELL = "cannot_tell"
    SUPPRESSED = "suppressed"
    DISABLED = "disabled"
    CRASHED = "crashed"


class Bar(msgspec.Struct, frozen=True):
    """One labelled bar of a chart."""

    label: str
    value: float


class Bars(msgspec.Struct, frozen=True):
    """A few quantities side by side, all in `unit`."""

    title: str
    unit: Unit
    bars: tuple[Bar, ...]


class Series(msgspec.Struct, frozen=True):
    """One quantity over steps or calls, in order, in `unit`."""

    title: str
    unit: Unit
    values: tuple[float, ...]


class Column(msgspec.Struct, frozen=True):
    """A table's column: heading and the unit of its cells."""

    title: str
    unit: Unit


class Table(msgspec.Struct, frozen=True):
    """Rows of values; a cell is a number in its column's unit, or text."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]


Evidence = Bars | Series | Table


class Location(msgspec.Struct, frozen=True):
    """A place in the user's own code, from a recorded Python stack."""

    file: str
    line: int | None
    function: str | None


class Advice(msgspec.Struct, frozen=True):
    """One thing to change.

    Args:
        language: What `code` is: a unified diff body, Python, a shell command, or prose.
        code: The change itself.
        note: When to use it, or what to watch; one or two sentences.
    """

    language: Literal["diff", "python", "shell", "text"]
    code: str
    note: str = ""


class Saving(msgspec.Struct, frozen=True):
    """An upper bound of what the fix can save, as time on the clock, not as the cost of the calls.

    Args:
        claims: The device-idle (or exposed) time inside the used steps that the cause owns. Sets, not numbers, so that two rules
            claiming the same nanosecond are counted once.
        kernel_ns: Device-busy nanoseconds over all used steps that the fix makes shorter, already discounted for idle time.
        basis: One sentence: which quantity this is and what it assumes.
    """

    claims: IntervalSet = EMPTY
    kernel_ns: int = 0
    basis: str = ""

    @property
    def total_ns(self) -> int:
        """Nanoseconds over all used steps together."""
        return self.claims.total_ns + self.kernel_ns


class Finding(msgspec.Struct, frozen=True):
    """One cause of lost time, with everything needed to believe it, change it and check the change.

    Args:
        why: What was measured and why it costs time: subject, value, unit, share, cause. Plain text; `code` in backticks.
        saving: The upper bound; `Saving()` where there is nothing to save on its own.
        confidence: The rule's own: high where the cause itself was seen, low where it was inferred; the engine only lowers it.
        steps_seen: Used steps in which the cause was seen.
        fix: Ordered, cheapest and likeliest first; never empty.
        verify: How to see that it worked.
        evidence: Charts and tables that show the numbers of `why`.
        location: The user's own line, where stacks were recorded.
        caveats: When this may be a false alarm on this trace.
        severity_cap: The highest severity this finding may have, for reasons the rule knows.
        title: Replaces the rule's title where what was seen allows a more precise one (at most 38 characters).
    """

    why: str
    saving: Saving
    fix: tuple[Advice, ...]
    verify: str
    steps_seen: int
    confidence: Confidence = Confidence.HIGH
    evidence: tuple[Evidence, ...] = ()
    location: Location | None = None
    caveats: tuple[str, ...] = ()
    severity_cap: Severity = Severity.HIGH
    title: str | None = None


class Outcome(msgspec.Struct, frozen=True):
    """Why a rule has no finding: `clear` with the value measured, `not_applicable`, or `cannot_tell` with what it needs."""

    state: State
    reason: str


def clear(reason: str) -> Outcome:
    """Looked at and fine; the reason states the measured value."""
    return Outcome(State.CLEAR, reason)


def not_applicable(reason: str) -> Outcome:
    """The question does not arise on this trace."""
    return Outcome(State.NOT_APPLICABLE, reason)


def cannot_tell(reason: str) -> Outcome:
    """The trace lacks what is needed; the reason names the option that would bring it."""
    return Outcome(State.CANNOT_TELL, reason)
