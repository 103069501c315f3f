"""How much of the time by which kernels get shorter the step usually gets shorter by.

That is an expectation, no bound: a step can get shorter by all that its kernels do, and by nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.facts import Facts


def kernel_reach_ratio(facts: Facts) -> float:
    """Share 0..1: the busy share of the step; where the device waits for each launch, the part of compute that the host waits for.

    Launches that come too late come no earlier for a faster kernel. But while the host stands in a call that waits for the device,
    as at the end of a step that reads its loss, a shorter kernel ends the call earlier.
    """
    if not facts.launch_bound:
        return 1 - min(1.0, facts.ratio(facts.idle.total_ns))
    compute = facts.waterfall.owned("compute")
    waited = compute & facts.host.anywhere("blocking")
    return waited.total_ns / compute.total_ns if compute else 0.0
