"""What it costs to call experts one by one, and what one call for all of them leaves: their products."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.products import PRODUCTS
from analyzer.facts.time.host_loss import HostLoss, host_loss
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet
from traces.trace import Trace


def expert_loss(trace: Trace, device: DeviceFacts, time: TimeFacts, loop: Loop) -> HostLoss:
    """What calling groups one by one costs: never the products, which have to be computed however they are called."""
    if device.main is not None:
        return host_loss(device, time.device_waits, time.waterfall, loop.spans)
    ops = trace.ops
    rows = ops[ops["name"].isin(PRODUCTS)]
    products = IntervalSet.of_rows(rows)
    others_ns = (loop.op_ns - (products & loop.forward).total_ns) / max(loop.ops, 1)
    return time.host_loss(loop.spans - products, others_ns)
