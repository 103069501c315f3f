"""Which rule speaks before which, and what those that fired have claimed by then.

A specific rule names in `RuleMeta.before` the general ones that leave its time alone. Only where it fired: what a rule that is
switched off, below its limit, suppressed or crashed would have claimed stays the general rule's, so no time is lost between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from analyzer.finding import Finding
from analyzer.rule import Rule
from analyzer.spans.intervals import EMPTY, IntervalSet
from traces.errors import AdvisorError


def in_order(rules: Sequence[Rule]) -> tuple[int, ...]:
    """Places of the rules in an order in which each comes behind those that speak before it.

    Args:
        rules: The catalogue.

    Raises:
        AdvisorError: Rules wait for one another.
    """
    earlier = _earlier(rules)
    try:
        return tuple(TopologicalSorter(earlier).static_order())
    except CycleError as error:
        # The places of a circle, first and last the same, each before the next.
        circle = " before ".join(rules[place].meta.code for place in error.args[1])
        raise AdvisorError(
            "rules wait for one another",
            where=f"the field `before` of their metadata: {circle}",
            why="each leaves the time of the one before it alone, so one of them has to be first",
            fix="take one of these codes out of `before`",
        ) from error


def claimed_before(place: int, rules: Sequence[Rule], given: Mapping[int, Iterable[Finding]]) -> IntervalSet:
    """The time that rules which speak before one have claimed.

    Args:
        place: The rule's place.
        rules: The catalogue.
        given: What each rule that has run found, by its place.
    """
    claimed = EMPTY
    for before in _speaking_before(place, rules):
        for finding in given.get(before, ()):
            claimed |= finding.saving.claims
    return claimed


def _earlier(rules: Sequence[Rule]) -> dict[int, list[int]]:
    return {place: _speaking_before(place, rules) for place in range(len(rules))}


def _speaking_before(place: int, rules: Sequence[Rule]) -> list[int]:
    code = rules[place].meta.code
    return [other for other, rule in enumerate(rules) if code in rule.meta.before]
