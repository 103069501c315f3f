"""What to say where a single call of the loader holds all waiting, or much: loading may not be what made it long."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Confidence
from analyzer.units import duration, share

# A loader's calls differ by a factor of two or so (DL004); a single one so much longer than all others is an accident, or rare.
_LONGER = 5.0
# With less than this part of the waiting the figures hardly depend on it.
_PART = 0.25
_MIN_CALLS = 3


def caveats(facts: Facts) -> tuple[str, ...]:
    """Says that there is one call alone, or what the loader takes without its longest; empty where calls are alike."""
    pattern = facts.input.pattern
    if len(facts.input.wait) == 1:
        return (
            "One call was recorded: a first batch, for which workers start or files are opened, may take longer than others.",
        )
    if not _stands_alone(facts):
        return ()
    longest, total = int(pattern.dur_ns.max()), int(pattern.dur_ns.sum())
    looks = (
        "A machine that was busy with something else"
        if facts.recording.collected.gc_recorded
        else "A pass of the garbage collector (`advisor collect` marks it, PY004), or a machine that was busy with something else,"
    )
    return (
        f"One of {len(pattern.dur_ns)} calls takes {duration(longest)}, {share(longest / total)} of all waiting; without it "
        f"loading takes {duration(facts.steps.per_step(total - longest))} a step. {looks} looks the same.",
    )


def confidence(facts: Facts, otherwise: Confidence) -> Confidence:
    """Not high where a single call decides how much loading takes."""
    return Confidence.MEDIUM if otherwise is Confidence.HIGH and _stands_alone(facts) else otherwise


def _stands_alone(facts: Facts) -> bool:
    pattern = facts.input.pattern
    if len(pattern.dur_ns) < _MIN_CALLS:
        return False
    (longest, next_longest), total = pattern.two_longest_ns, pattern.total_ns
    return longest >= _PART * total and longest >= _LONGER * max(next_longest, 1)
