"""What a rule says: findings, their evidence, their saving and their fix; or why there is none.

Everything is frozen and holds numbers, not text made of numbers: the reports round. Evidence, places and fixes are those of the
document (`analyzer.analysis`), under whose names rules import them from here.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import msgspec

from analyzer.analysis.evidence import Bar, Bars, Column, Evidence, Series, Table, Unit
from analyzer.analysis.finding import Advice, Location
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.shortened import Shortened, Shorter, shorter
from traces.patterns import Pattern

__all__ = [
    "Advice",
    "Bar",
    "Bars",
    "Column",
    "Confidence",
    "Evidence",
    "Figure",
    "Finding",
    "Location",
    "Outcome",
    "Saving",
    "Series",
    "Severity",
    "Shortened",
    "State",
    "Table",
    "Unit",
    "cannot_tell",
    "clear",
    "not_applicable",
]


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


class Figure(str, Enum):
    """What kind of figure a saving is: BOUND holds while the rest of the step stays as it was; an ESTIMATE may be exceeded."""

    BOUND = "bound"
    ESTIMATE = "estimate"


class State(str, Enum):
    """What became of one rule on one trace."""

    FIRED = "fired"
    CLEAR = "clear"
    NOT_APPLICABLE = "not_applicable"
    CANNOT_TELL = "cannot_tell"
    SUPPRESSED = "suppressed"
    DISABLED = "disabled"
    CRASHED = "crashed"


class Saving(msgspec.Struct, frozen=True, dict=True):
    """What the fix can save, as time on the clock, not as the cost of the calls; `kind` says whether as a bound or an estimate.

    Args:
        claims: The device-idle (or exposed) time inside the used steps that the cause owns. Sets, not numbers, so that two rules
            claiming the same nanosecond are counted once.
        kernel_ns: Busy nanoseconds over all used steps by which the fix makes kernels (or, without a device, ops) shorter. No step
            gets shorter by more than its kernels do.
        basis: One sentence: which quantity this is and what it assumes.
        between_ns: Nanoseconds a step, over all steps of the run that was recorded, that lie in none of the recorded ones.
        between_ratio: The same as a share of all steps of the run.
        usual_claims: What of `claims` usually comes true; None where nothing says that it is less than all.
        usual_kernel_ns: How much of `kernel_ns` usually reaches the clock; None where nothing says that it is less than all.
        shortened: The kernels behind `kernel_ns`, as far as they are known.
        behind: Device-idle time beside the claims that may come back too, as behind them, where the host is earlier
            (`facts.sync.behind`): counted in the bound, and not in what usually comes true.
        kind: An estimate where the fix may well give more than this, as where it makes other work faster, too.
    """

    claims: IntervalSet = EMPTY
    kernel_ns: int = 0
    basis: str = ""
    between_ns: int = 0
    between_ratio: float = 0.0
    usual_claims: IntervalSet | None = None
    usual_kernel_ns: int | None = None
    shortened: tuple[Shortened, ...] = ()
    behind: IntervalSet = EMPTY
    kind: Figure = Figure.BOUND

    @property
    def most_claims(self) -> IntervalSet:
        """All idle time that may come back."""
        return self.claims | self.behind

    @property
    def total_ns(self) -> int:
        """Nanoseconds over all used steps together; what lies between them is not in it."""
        return self.claims.total_ns + self.kernel_ns

    @property
    def usual_ns(self) -> int:
        """What usually comes true of `total_ns`."""
        return self.likely_claims.total_ns + self.usual_shorter_ns

    @property
    def likely_claims(self) -> IntervalSet:
        """What usually comes true of `claims`."""
        return self.claims if self.usual_claims is None else self.usual_claims

    @property
    def usual_shorter_ns(self) -> int:
        """What usually comes true of `kernel_ns`."""
        return self.kernel_ns if self.usual_kernel_ns is None else self.usual_kernel_ns

    @cached_property
    def shorter(self) -> Shorter:
        """The kernels that get shorter where all of it comes true; asked for with each choice of findings."""
        return shorter(self.shortened, self.kernel_ns, self.kernel_ns)

    @cached_property
    def usually_shorter(self) -> Shorter:
        """Where what usually does comes true."""
        if self.usual_shorter_ns == self.kernel_ns:
            return self.shorter
        return shorter(self.shortened, self.kernel_ns, self.usual_shorter_ns)


class Finding(msgspec.Struct, frozen=True):
    """One cause of lost time, with everything needed to believe it, change it and check the change.

    Args:
        why: What was measured and why it costs time: subject, value, unit, share, cause. Plain text; `code` in backticks.
        saving: A bound or an estimate; `Saving()` where there is nothing to save on its own.
        confidence: The rule's own: high where the cause itself was seen, low where it was inferred; the engine only lowers it.
        steps_seen: Used steps in which the cause was seen.
        fix: Ordered, cheapest and likeliest first; never empty.
        verify: How to see that it worked.
        evidence: Charts and tables that show the numbers of `why`.
        location: The user's own line, where stacks were recorded.
        caveats: When this may be a false alarm on this trace.
        severity_cap: The highest severity this finding may have, for reasons the rule knows.
        capped_because: Those reasons, a few words that follow "lowered:"; needed where the cap may lower a saving's severity.
        title: Replaces the rule's title where what was seen allows a more precise one (at most 38 characters).
        references: Replace the rule's where they are on something else than what was found.
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
    capped_because: str = ""
    title: str | None = None
    references: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True):
    """Why a rule has no finding: `clear` with the value measured, `not_applicable`, or `cannot_tell` with what it needs."""

    state: State
    reason: str


def clear(reason: str) -> Outcome:
    """Looked at and fine; the reason states the measured value. Where that rounds to its limit, it is said to be just below."""
    return Outcome(State.CLEAR, _SAME.sub(r"\1 %\2just below \1 %", reason) if isinstance(reason, str) else reason)


# `2.0 % of the step, below 2.0 %`: a value, a few words without another figure, and the limit in the same digits.
_SAME = Pattern(r"(?<![\d.,])(\d[\d.,]*) %([^\d]{0,80}?)\bbelow \1 %")


def not_applicable(reason: str) -> Outcome:
    """The question does not arise on this trace."""
    return Outcome(State.NOT_APPLICABLE, reason)


def cannot_tell(reason: str) -> Outcome:
    """The trace lacks what is needed; the reason names the option that would bring it."""
    return Outcome(State.CANNOT_TELL, reason)
