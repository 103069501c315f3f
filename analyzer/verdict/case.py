"""A run to be judged: what was measured, what the shares say, and what the rules for each bound say."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from analyzer.analysis import BoundBy, Verdict
from analyzer.facts import Facts
from analyzer.spans.intervals import EMPTY, IntervalSet


class Evidence(msgspec.Struct, frozen=True):
    """What the rules for a bound say.

    Args:
        fired: Whether one of them found what it looks for.
        reason: Why the one that the bound is named after did not.
        claims: The time that those which fired claim.
    """

    fired: bool
    reason: str
    claims: IntervalSet = EMPTY


class Case(msgspec.Struct, frozen=True):
    """A run to be judged.

    Args:
        facts: The measurements.
        totals: Nanoseconds by cause over the used steps, without `seldom_ns`.
        found: What the shares alone say.
        loops_ns: On a CPU-only trace, time of small ops in Python loops.
        evidence: What the rules for a bound say, by bound.
        seldom_ns: Pauses of the used steps that the run has no room for; `totals` are without them.
    """

    facts: Facts
    totals: Mapping[str, int]
    found: Verdict
    loops_ns: int
    evidence: Mapping[str, Evidence]
    seldom_ns: int

    def says(self, bound_by: BoundBy, text: str) -> Verdict:
        """A verdict with the share that was found."""
        return Verdict(bound_by=bound_by, ratio=self.found.ratio, text=text)
