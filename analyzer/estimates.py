"""What measured pairs of recordings say of estimates: how much of one came true, at least and at most."""

from __future__ import annotations

# Without a device the rest of the step is work on the same cores: what goes no longer empties their caches, and what is left gets
# faster, or the fix has work of its own to do. Of 19 planted bottlenecks (traces/README.md, 2 cores, 2026-11-24) the remedies
# brought 0.61 (element-loop) to 1.28 (small-samples) times what was claimed, and once 2.1 times, of 2.7 % +- 3.2 % (zeroed): none
# lies outside of these by more than its noise. Of this project's own `collect` and `collect --in-memory` it was 1.05 to 1.13
# times. None of them is about communication, threads or memory: RuleMeta.measured says whose pairs these are.
_LEAST_PART, _MOST_PART = 0.5, 1.25
# And what was left of the step got faster by up to 44 % (the same `collect --in-memory`; waiting-samples 39 %): right after loading
# training takes as long as in the slow loop, with the caches to itself a tenth to two fifths less (traces/README.md).
_REST_FASTER_RATIO = 0.5


def least_ns(estimate_ns: int) -> int:
    """The lower end of what measured pairs brought of an estimate without a device, in ns."""
    return round(estimate_ns * _LEAST_PART)


def most_ns(estimate_ns: int, step_ns: int) -> int:
    """The upper end; the smaller of two: so much more than the estimate, and so much of what it leaves of the step.

    Args:
        estimate_ns: What is claimed of a step.
        step_ns: The step.
    """
    rest = max(step_ns - estimate_ns, 0)
    return round(min(estimate_ns * _MOST_PART, estimate_ns + rest * _REST_FASTER_RATIO))
