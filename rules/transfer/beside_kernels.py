"""How much of some copies has kernels beside it, as evidence."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Bar, Bars
from analyzer.spans.intervals import IntervalSet


def beside_kernels(facts: Facts, copying: IntervalSet, exposed: IntervalSet) -> Bars:
    """Time of copies in the mean step, with kernels beside it and without.

    Args:
        facts: The measurements.
        copying: When the copies run.
        exposed: The part of it beside no kernel, in the used steps.
    """
    inside = (copying & facts.steps.window).total_ns
    return Bars(
        "mean step",
        "ns",
        (
            Bar("copies beside no kernel", facts.steps.per_step(exposed.total_ns)),
            Bar("copies beside kernels", facts.steps.per_step(inside - exposed.total_ns)),
        ),
    )
