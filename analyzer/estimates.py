"""What measured pairs of recordings say of estimates: how much of one came true, at least and at most."""

from __future__ import annotations

# Without a device the rest of the step is work on the same cores: what goes no longer empties their caches, and what is left gets
# faster, or the fix has work of its own to do. Of 17 planted bottlenecks (traces/README.md, 2 cores, 2026-11-22) the remedies
# brought 0.52 (element-loop) to 1.21 (zeroed) times what was claimed, of this project's own `collect` and `collect --in-memory`
# 1.05 to 1.13 times. None of them is about communication, threads or memory: RuleMeta.measured says whose pairs these are.
_LEAST_PART, _MOST_PART = 0.5, 1.25
# And what was left of the step got faster by up to 44 % (the same `collect --in-memory`; slow-collate 37 %).
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
