"""Fixes where the host cannot feed the device, worded for the run."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.changes import capture_by_hand, larger_batch, replay_as_graph


def feed_faster(facts: Facts) -> tuple[Advice, ...]:
    """Fewer or cheaper launches, cheapest change first."""
    fixes = [larger_batch(facts)]
    if not facts.repetition.graphs:
        fixes.append(replay_as_graph(facts))
    if facts.optimizing.style == "for-loop":
        fixes.append(Advice("diff", "+    fused=True,   # in the optimizer's arguments", "See OP001."))
    by_hand = capture_by_hand()
    return tuple(fixes) if by_hand in fixes else (*fixes, by_hand)
