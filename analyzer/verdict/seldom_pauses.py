"""Pauses of the garbage collector that the recorded steps hold and the run has no room for: they bind no run."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.facts import Facts
from analyzer.units import share
from analyzer.verdict.shares import WORTH_NAMING


def seldom_pauses_ns(facts: Facts, totals: Mapping[str, int]) -> int:
    """What the used steps hold of such pauses in all; 0 where the run has room for them, or was not timed."""
    room = facts.time.collected_in_run_ns
    if room is None:
        return 0
    paused = (facts.time.pauses.collected & facts.time.waterfall.owned("python")).total_ns
    return min(max(0, round(paused - room * facts.steps.count)), totals.get("python", 0))


def left_out(seldom_ns: int, facts: Facts) -> str:
    """The sentence that says so, behind the verdict; empty where they are too short to matter."""
    ratio = facts.steps.ratio(seldom_ns)
    if ratio < WORTH_NAMING:
        return ""
    return (
        f" That leaves out pauses of the garbage collector, {share(ratio)} of the recorded steps: without the profiler they come "
        "less often."
    )
