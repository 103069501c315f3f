"""What it costs to make gradients of whole embedding tables and to pass over them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.facts import Facts
from analyzer.facts.model.dense_tables import DenseTable
from analyzer.finding import Figure, Saving, Shortened
from analyzer.spans.intervals import IntervalSet
from rules.evidence import reaching


class WholeTables(msgspec.Struct, frozen=True):
    """What some tables cost.

    Args:
        spans: When the gradients are made and passed over: kernels on a device, else ops.
        zeroing_ns: Of that the zeros.
        passes_ns: Of that the passes.
        others_ns: Of that what else makes the gradient.
        useless_ns: Zeroing, and passes without the rows of a batch.
        shortened: The kernels, with the share of them that goes.
    """

    spans: IntervalSet
    zeroing_ns: int
    passes_ns: int
    others_ns: int
    useless_ns: int
    shortened: tuple[Shortened, ...]


def whole_tables(facts: Facts, tables: Sequence[DenseTable]) -> WholeTables:
    """What tables cost, on the device that stands for the trace or on the CPU.

    Args:
        facts: The measurements.
        tables: Those that count.
    """

    def spent(spans: IntervalSet) -> IntervalSet:
        return facts.time.launched_in(spans).spans if facts.device.main is not None else spans & facts.steps.window

    zeroing = IntervalSet.union(spent(table.fills) for table in tables)
    making = IntervalSet.union(spent(table.gradients) for table in tables)
    passes = [
        (spent(each.spans), each.ratio, 1 - table.touched_ratio)
        for table in tables
        for each in (*table.updates, *table.others)
    ]
    return WholeTables(
        spans=IntervalSet.union([making, *(spans.scaled(ratio) for spans, ratio, _ in passes)]),
        zeroing_ns=zeroing.total_ns,
        passes_ns=int(sum(spans.total_ns * ratio for spans, ratio, _ in passes)),
        others_ns=(making - zeroing).total_ns,
        useless_ns=zeroing.total_ns + int(sum(spans.total_ns * ratio * rest for spans, ratio, rest in passes)),
        shortened=(Shortened(making, 1.0), *(Shortened(spans, ratio) for spans, ratio, _ in passes if spans)),
    )


def saving_of(facts: Facts, cost: WholeTables) -> Saving:
    """What sparse gradients give at most, and what of it is likely."""
    whole = "making the gradient and passing over the whole table; likely are its zeros, and the passes without the rows of a batch"
    if facts.device.main is None:
        freed = facts.model.optimizing.zero_time
        return Saving(
            claims=cost.spans | freed,
            usual_claims=cost.spans.scaled(cost.useless_ns / max(cost.spans.total_ns, 1)),
            basis=f"{whole}; giving the gradient's memory back, inside zero_grad, may end too",
            kind=Figure.ESTIMATE,
        )
    hidden = facts.model.optimizing.kernel_ns if facts.model.dense_tables.lists_hidden else 0
    most = cost.zeroing_ns + cost.others_ns + cost.passes_ns + hidden
    unknown = "; which part of the optimizer's lists is the table's was not recorded" if hidden else ""
    return Saving(
        kernel_ns=most,
        usual_kernel_ns=min(facts.time.kernel_gain_ns(cost.useless_ns), most),
        shortened=cost.shortened,
        basis=f"{whole}{unknown}; {reaching(facts)}",
    )
