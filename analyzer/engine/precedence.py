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
    try:
        return tuple(TopologicalSorter(dict(enumerate(speaking_before(rules)))).static_order())
    except CycleError as error:
        # The places of a circle, first and last the same, each before the next.
        circle = " before ".join(rules[place].meta.code for place in error.args[1])
        raise AdvisorError(
            "rules wait for one another",
            where=f"the field `before` of their metadata: {circle}",
            why="each leaves the time of the one before it alone, so one of them has to be first",
            fix="take one of these codes out of `before`",
        ) from error


def speaking_before(rules: Sequence[Rule]) -> tuple[tuple[int, ...], ...]:
    """For each rule the places of those that speak before it, in the catalogue's order.

    Args:
        rules: The catalogue.
    """
    found: dict[str, list[int]] = {}
    for place, rule in enumerate(rules):
        for code in dict.fromkeys(rule.meta.before):
            found.setdefault(code, []).append(place)
    return tuple(tuple(found.get(rule.meta.code, ())) for rule in rules)


def claimed_by(places: Iterable[int], given: Mapping[int, Iterable[Finding]]) -> IntervalSet:
    """The time that some rules have claimed.

    Args:
        places: The rules' places.
        given: What each rule that has run found, by its place.
    """
    claimed = EMPTY
    for place in places:
        for finding in given.get(place, ()):
            claimed |= finding.saving.claims
    return claimed
