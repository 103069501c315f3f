"""The time that each finding concerns, what it explains and what it makes shorter, and whose time that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.finding import Saving

# A finding that concerns less of a group's time is none of this group's.
_CONCERNED = 0.5


class Concern(msgspec.Struct, frozen=True):
    """The time that a rule's findings concern.

    Args:
        claims: What they explain.
        shorter: When the kernels run (without a device, the ops) that they make shorter.
    """

    claims: IntervalSet
    shorter: IntervalSet


def concerns(analysis: Analysis, savings: Mapping[str, Saving]) -> dict[str, Concern]:
    """For each rule with a card of its own the time that it concerns, best finding first.

    Args:
        analysis: The document.
        savings: What each finding claims, by its id.
    """
    found: dict[str, Concern] = {}
    for card in analysis.cards:
        if (saving := savings.get(card.id)) is None:
            continue
        before = found.get(card.rule, Concern(EMPTY, EMPTY))
        shorter = before.shorter
        for part in saving.shortened:
            shorter = shorter | part.spans
        found[card.rule] = Concern(before.claims | saving.claims, shorter)
    return found


class Part(msgspec.Struct, frozen=True, eq=False):
    """Events with the number of the group that each belongs to.

    Args:
        group: Numbers, shape (events,).
        count: How many groups there are.
        start_ns: Starts, shape of `group`.
        dur_ns: Lengths, likewise.
        own: Which events may be those that a finding makes shorter; the others only run at the same time. Likewise.
    """

    group: Int64Array
    count: int
    start_ns: Int64Array
    dur_ns: Int64Array
    own: BoolArray

    def ratios(self, concern: Concern) -> FloatArray:
        """For each group the share of its time that a finding concerns; 0 where it has none."""
        end_ns = self.start_ns + self.dur_ns
        inside = concern.claims.overlap_with(self.start_ns, end_ns)
        shorter = concern.claims | concern.shorter
        inside[self.own] = shorter.overlap_with(self.start_ns[self.own], end_ns[self.own])
        whole = np.bincount(self.group, self.dur_ns, self.count)
        found: FloatArray = np.bincount(self.group, inside, self.count) / np.maximum(whole, 1)
        return found


def rules_of(concerns: Mapping[str, Concern], *parts: Part) -> Callable[[int], tuple[str, ...]]:
    """Says for a group's number which rules concern at least half of its time in any of the parts, most first."""
    rules = list(concerns)
    ratios = np.zeros((len(rules), parts[0].count))
    for place, concern in enumerate(concerns.values()):
        for part in parts:
            np.maximum(ratios[place], part.ratios(concern), out=ratios[place])
    order = np.argsort(-ratios, axis=0, kind="stable")
    return lambda group: tuple(rules[place] for place in order[:, group] if ratios[place, group] >= _CONCERNED)
