"""Loops beside the loss to which no gradient comes back: metrics, and targets that are prepared."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice
from rules.python.read_values import reads

MEASURED_SELDOM = Advice(
    "text",
    "Where it is a metric, of your own or of a library: every so many steps, or once an epoch of counts or outputs that are kept. "
    "With torchmetrics: `metric.update(...)` in the step, `metric.compute()` when the epoch ends; in Lightning "
    "`self.log(name, metric)` of the metric itself does both.",
)


# What metrics do with outputs and labels; who prepares a batch or a mask compares as well, and seldom sorts.
_SORTS = frozenset(
    f"aten::{name}" for name in ("argsort", "sort", "topk", "argmax", "bincount", "searchsorted", "trapz")
)


def may_measure(loop: Loop) -> bool:
    """Whether a loop beside the layers of a step, to which no gradient comes back, sorts or ranks: a metric does."""
    return loop.phase in ("before", "after") and not loop.backward and not _SORTS.isdisjoint(loop.unit)


def without_gradient(loop: Loop) -> bool:
    """Whether no gradient comes back to a loop that lies where the loss is computed, or to one that reads values: it is no loss."""
    return not loop.backward and (reads(loop) or (loop.phase == "loss" and loop.numbered))


def measures(loop: Loop) -> str:
    """A sentence on what such a loop is, with a space before it; empty of a loss, and of what lies elsewhere."""
    if loop.phase == "loss" and without_gradient(loop):
        return " No gradient comes back to it: it measures, as a metric does, or prepares targets."
    if may_measure(loop):
        return " It sorts or ranks, and no gradient comes back to it: it may be a metric, of a library as well."
    return ""


def measured_seldom(loop: Loop) -> tuple[Advice, ...]:
    """What to do about a metric; nothing of a loss, and of what lies elsewhere."""
    return (MEASURED_SELDOM,) if measures(loop) else ()
