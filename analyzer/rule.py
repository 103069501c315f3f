"""The contract between the engine and a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from analyzer.finding import Finding, Outcome, Unit
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


class RuleMeta(msgspec.Struct, frozen=True):
    """What is known of a rule without running it.

    Args:
        code: Two letters and three digits; never reused.
        name: The bad thing, kebab-case.
        family: Folder under `rules/`.
        title: At most 38 characters, so that it fits the list of the terminal UI.
        needs: Capabilities the trace must have; where one is missing the engine reports `cannot_tell` (or `not_applicable`)
            without calling the rule.
        thresholds: Every limit `check` uses.
        explains: Codes of more general rules whose finding this one replaces on a card.
        suppressed_by: Codes of hygiene symptoms (PG...) that make this rule's answer meaningless.
        binds: What a verdict calls the run by what this rule measures: `launch`. It asks the rules for a bound whether one fired.
        references: Where the method or the numbers come from, as addresses or document names.
    """

    code: str
    name: str
    family: str
    title: str
    needs: frozenset[Capability] = frozenset()
    thresholds: tuple[Threshold, ...] = ()
    explains: tuple[str, ...] = ()
    suppressed_by: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


Check = Callable[["Facts", Limits], Iterator[Finding | Outcome]]


class Rule(msgspec.Struct, frozen=True):
    """A rule: literal metadata, a pure check, and the page that documents it.

    Args:
        meta: Declared data.
        check: Yields at most one finding per cause; or one `Outcome` that says why there is none. Keeps no state.
        doc: The module's docstring: the public page, with fixed headings.
    """

    meta: RuleMeta
    check: Check
    doc: str

    @property
    def limits(self) -> dict[str, float]:
        """The default thresholds by name."""
        return {threshold.name: threshold.value for threshold in self.meta.thresholds}
