"""How much of the time by which kernels get shorter the step usually gets shorter by.

That is an expectation, no bound: a step can get shorter by all that its kernels do, and by nothing.
"""

from __future__ import annotations

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.intervals import IntervalSet


def kernel_reach_ratio(
    steps: Steps, host: HostFacts, idle: IntervalSet, launch_bound: bool, waterfall: Waterfall
) -> float:
    """Share 0..1: the busy share of the step; where the device waits for each launch, the part of compute that the host waits for.

    Launches that come too late come no earlier for a faster kernel. But while the host stands in a call that waits for the device,
    as at the end of a step that reads its loss, a shorter kernel ends the call earlier.
    """
    if not launch_bound:
        return 1 - min(1.0, steps.ratio(idle.total_ns))
    compute = waterfall.owned("compute")
    waited = compute & host.threads.anywhere("blocking")
    return waited.total_ns / compute.total_ns if compute else 0.0
