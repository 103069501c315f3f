"""What is known of a trace before its checks: one waterfall, a tenth of what all rules take."""

from __future__ import annotations

from analyzer.analysis.first_look import FirstLook
from analyzer.assemble.causes import cause_times
from analyzer.assemble.summary import busy_ratio, cause_totals, step_times
from analyzer.facts import Facts


def first_look(facts: Facts) -> FirstLook | None:
    """The steps and their causes, the same figures as in the document; None where no step is used.

    Raises:
        FactError: They cannot be measured.
    """
    if not facts.steps.count:
        return None
    return FirstLook(
        rank=facts.trace.meta.rank,
        noun=facts.steps.noun,
        step_ns=step_times(facts),
        used_steps=facts.steps.count,
        gpu_busy_ratio=busy_ratio(facts),
        waterfall=cause_times(cause_totals(facts), facts.steps.total_ns),
    )
