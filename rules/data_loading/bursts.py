"""What waiting in bursts is: nearly all of it in few calls. DL004 looks for it; rules on steady starvation leave it to DL004."""

from __future__ import annotations

from analyzer.facts.input.wait_pattern import WaitPattern

# 95th percentile of the loader's calls over their median, and the part of all waiting in the longest quarter of them.
MIN_SPREAD = 5.0
MIN_TOP_RATIO = 0.8


def is_bursty(pattern: WaitPattern) -> bool:
    """Whether nearly all waiting is in few calls."""
    return pattern.spread >= MIN_SPREAD and pattern.top_ratio >= MIN_TOP_RATIO
