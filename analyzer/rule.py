"""The contract between the engine and a rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from analyzer.finding import Finding, Outcome, Unit
from analyzer.spans.intervals import IntervalSet
from traces.trace import Capability

if TYPE_CHECKING:
    from analyzer.facts import Facts


class Threshold(msgspec.Struct, frozen=True):
    """A limit a rule compares with, and where it comes from.

    Args:
        name: Key in `[tool.advisor.rules.CODE]`, in snake case, ending in its unit (`_ratio`, `_ns`) unless it is a count.
        value: Default.
        unit: Unit of `value`.
        why: Source of the number, one sentence.
    """

    name: str
    value: float
    unit: Unit
    why: str


Limits = Mapping[str, float]
# What the analyzer may ask of a rule without knowing its code: which of HTA's analyses speaks to its findings (`queue`,
# `sequences`, `overlap`), whether a finding says that its rank keeps the others waiting (`late_rank`), and whether it describes a
# symptom that is true of many programs (`symptom`), so that it is no answer to what was planted in one.
Topic = Literal["queue", "sequences", "overlap", "late_rank", "symptom", "set_memory", "untaken_gradients"]


class RuleMeta(msgspec.Struct, frozen=True):
    """What is known of a rule without running it.

    Args:
        code: Two letters and three digits; never reused.
        name: The bad thing, kebab-case.
        family: Folder under `rules/`.
        title: At most 38 characters, so that it fits the list of the terminal UI.
        needs: Capabilities the trace must have; where one is missing the engine reports `cannot_tell` (or `not_applicable`)
            without calling the rule.
        clear_needs: Capabilities without which a recording with device work shows less than there is of what the rule looks
            for: what it does not find then, it cannot tell.
        thresholds: Every limit `check` uses.
        explains: Codes of more general rules whose finding this one replaces on a card.
        before: Codes of rules that leave alone what this one claims where it fires: they run later, and their `check` is handed
            the claims.
        suppressed_by: Codes of hygiene symptoms (PG...) that make this rule's answer meaningless.
        binds: What a verdict calls the run by what this rule measures: `launch`. It asks the rules for a bound whether one fired.
        measures: Of `binds` those whose loss this rule measures whole: where no rule of such a bound found anything, this one says
            why.
        topics: What the analyzer may ask of the rule without knowing its code.
        references: Where the method or the numbers come from, as addresses or document names.
        outside: Changes that `advisor tune` can make from outside the script against what is found, by their names in
            `analyzer/tune/catalogue.py`; empty where only the program itself can be changed.
        measured: Whether recordings with and without what it finds, on the CPU, are among the pairs of traces/README.md: only then
            the range that those show is quoted beside its estimate.
    """

    code: str
    name: str
    family: str
    title: str
    needs: frozenset[Capability] = frozenset()
    clear_needs: frozenset[Capability] = frozenset()
    thresholds: tuple[Threshold, ...] = ()
    explains: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    suppressed_by: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    topics: frozenset[Topic] = frozenset()
    references: tuple[str, ...] = ()
    measured: bool = False
    outside: tuple[str, ...] = ()


Said = Iterator[Finding | Outcome]
# A rule that others speak before takes a third argument: the time that those of them which fired have claimed.
PlainCheck = Callable[["Facts", Limits], Said]
ClaimsCheck = Callable[["Facts", Limits, IntervalSet], Said]
Check = PlainCheck | ClaimsCheck


class Rule(msgspec.Struct, frozen=True):
    """A rule: literal metadata, a pure check, and the page that documents it.

    Args:
        meta: Declared data.
        check: Yields at most one finding per cause; or one `Outcome` that says why there is none. Keeps no state. Takes the
            measurements and the limits; where other rules speak before it, as a third argument what they claimed.
        doc: The module's docstring: the public page, with fixed headings. None only where Python leaves docstrings out.
    """

    meta: RuleMeta
    check: Check
    doc: str | None

    @property
    def page(self) -> str:
        """The page; where Python was told to leave docstrings out (`-OO`, `PYTHONOPTIMIZE=2`), one that says so."""
        return self.doc or f"{self.meta.code} {self.meta.name}: its page was left out by Python's option -OO."

    @property
    def limits(self) -> dict[str, float]:
        """The default thresholds by name."""
        return {threshold.name: threshold.value for threshold in self.meta.thresholds}

    def said(self, facts: Facts, limits: Limits, claimed: IntervalSet) -> Said:
        """What `check` yields.

        Args:
            facts: The measurements.
            limits: Thresholds by name.
            claimed: What rules that fired before this one have claimed; not handed to a check of two arguments.
        """
        if takes_claims(self.check):
            return cast("ClaimsCheck", self.check)(facts, limits, claimed)
        return cast("PlainCheck", self.check)(facts, limits)


def takes_claims(check: Callable[..., Any]) -> bool:
    """Whether a check asks for the time that others have claimed: it needs a third argument."""
    try:
        return _needs_third(check)
    except TypeError:  # Somebody's object may have no hash.
        return _needs_third.__wrapped__(check)


@lru_cache(maxsize=1_024)
def _needs_third(check: Callable[..., Any]) -> bool:
    """The same, looked at once: reading a signature takes as long as many a check."""
    return not _takes(check, 2) and _takes(check, 3)


def is_check(check: object) -> bool:
    """Whether something can be called as a check: with facts and limits, or with what others have claimed as a third argument."""
    return callable(check) and (_takes(check, 2) or _takes(check, 3))


def _takes(check: Callable[..., Any], number: int) -> bool:
    """Whether a function can be called with so many arguments; what cannot be looked at takes two, as checks do."""
    try:
        signature = inspect.signature(check)
    except (ValueError, TypeError):
        return number == 2
    try:
        signature.bind(*range(number))
    except TypeError:
        return False
    return True
