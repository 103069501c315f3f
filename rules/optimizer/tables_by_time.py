"""Dense gradients of embedding tables of which no shapes were recorded: what their time alone tells."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits
from analyzer.units import duration, share
from rules.optimizer.sparse_gradients import MOVED_OTHERWISE, SAME_RESULT, refuses, sparse_caveats, sparse_fix

_UNKNOWN = "needs record_shapes=True: how many rows the tables have is not known"
_TIED = (
    "; the backward pass adds up something as large, as for a head tied to the table, whose gradient is dense anyway"
)
# What SGD without momentum and weight decay does to its parameters, one by one or in lists.
_PLAIN = frozenset({"aten::add_", "aten::_foreach_add_"})


def by_time(facts: Facts, limits: Limits) -> Finding | Outcome:
    """What filling gradients with zeros takes beside the lookups tells of the tables.

    Args:
        facts: The measurements.
        limits: Those of the rule.
    """
    timed, work = facts.model.timed_tables, facts.model.optimizing
    # Kernels of a lookup that gives one row for many read more than they write.
    if facts.device.main is not None or timed.touched_ratio > limits["max_rows_ratio"]:
        return cannot_tell(_UNKNOWN)
    ratio = facts.steps.ratio(timed.fill_ns)
    if ratio < limits["min_ratio"]:
        return clear(
            f"filling gradients with zeros takes {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
    if facts.steps.ratio(timed.fill_ns - facts.time.without_core_ns) < limits["min_ratio"]:
        return cannot_tell(
            f"{_UNKNOWN}; filling gradients with zeros takes {share(ratio)} of the step, but the thread "
            f"{facts.time.core_words} of it"
        )
    if timed.summed:
        return cannot_tell(_UNKNOWN + _TIED)
    refused = refuses(facts)
    if refused is not None:
        return refused
    if work.class_name == "SGD" and any("_fused_" in name for name in timed.passes):
        return cannot_tell(f"{_UNKNOWN}; nor is whether the fused update has momentum or weight decay")
    if work.class_name == "SGD" and not timed.passes <= _PLAIN:
        return clear(MOVED_OTHERWISE)
    each = facts.steps.per_step
    shapes = "how many rows the tables have, and what the optimizer spends on them, needs record_shapes=True"
    return Finding(
        why=f"Gradients of embeddings are made as whole tables: filling them with zeros takes {duration(each(timed.fill_ns))} of "
        f"{facts.steps.each} ({share(ratio)}), the lookups {duration(each(timed.lookup_ns))}. A lookup writes the rows of a batch, "
        f"filling writes all rows: by that a batch names at most about {share(timed.touched_ratio)} of them.",
        saving=Saving(
            timed.gradients | work.zero_time,
            usual_claims=timed.fills,
            basis=f"making the gradients, and giving their memory back; likely are their zeros. The optimizer's passes over whole "
            f"tables come on top: {shapes}",
        ),
        fix=sparse_fix(facts),
        verify="Record again: no `aten::embedding_dense_backward` or `aten::_embedding_bag_dense_backward`, and a shorter update.",
        steps_seen=facts.steps.count_with(timed.gradients),
        confidence=Confidence.MEDIUM if work.class_name in SAME_RESULT else Confidence.LOW,
        evidence=(
            Bars(
                "mean step, on the host",
                "ns",
                (
                    Bar("lookups", each(timed.lookup_ns)),
                    Bar("filling gradients with zeros", each(timed.fill_ns)),
                    Bar("all of making them", each(timed.gradients.total_ns)),
                ),
            ),
        ),
        caveats=(f"Told by time: {shapes} (`advisor collect --shapes train.py`).", *sparse_caveats(work.class_name)),
    )
