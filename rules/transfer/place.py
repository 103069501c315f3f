"""Where in the user's code copies are asked for."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import Copies
from analyzer.finding import Location
from rules.place import location as of_line


def location(facts: Facts, copies: Copies) -> Location | None:
    """The user's line that asks for most of the host time of these copies; None without stacks."""
    return of_line(facts.transfer.line_of(copies))
