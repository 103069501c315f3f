"""How long ops take that only describe a tensor anew, beside launch calls: what it costs that an op is recorded.

Such an op works for well under a microsecond, a launch call for several: the driver puts a command into a queue. Where the ops take
longer than the calls, not the core is slow, but something looks at each op: an observer beside the profiler, stacks, a build for
debugging. In recordings with the profiler alone the ops take up to a third of a launch call.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

_DESCRIBING = tuple(
    f"aten::{name}"
    for name in ("view", "as_strided", "result_type", "expand", "transpose", "permute", "slice", "select", "unsqueeze",
                 "squeeze", "t", "detach", "alias", "_unsafe_view", "_reshape_alias")
)  # fmt: skip
# Of fewer a median says little.
_FEWEST = 100


class DescribedOps(msgspec.Struct, frozen=True):
    """What ops take that only describe a tensor anew.

    Args:
        median_ns: Of one such op.
        least_ns: What a quarter of them takes at most: what there is no op without.
        launch_ns: Of a launch call, the median.
        ops: All ops of the time asked about.
    """

    median_ns: int
    least_ns: int
    launch_ns: int
    ops: int

    @property
    def total_ns(self) -> int:
        """What the least comes to for all ops."""
        return self.least_ns * self.ops


def described_ops(trace: Trace, tree: HostTree, window: IntervalSet) -> DescribedOps | None:
    """Measures it; None where there are too few such ops or launch calls.

    Args:
        trace: The trace.
        tree: What runs inside what on the host.
        window: Where to look.
    """
    start = tree.frame["start_ns"].to_numpy()
    inside = window.contains(start)
    # An op around another one, or around a call, does more.
    around = np.zeros(len(inside), dtype=bool)
    around[tree.parent[tree.parent != np.arange(len(inside))]] = True
    ops = inside & tree.of_source("ops")
    describing = ops & ~around & tree.named(*_DESCRIBING)
    calls = trace.runtime
    launching = is_any(calls["kind"], "launch") & window.contains(calls["start_ns"].to_numpy())
    if min(int(describing.sum()), int(launching.sum())) < _FEWEST:
        return None
    took = tree.dur_ns[describing]
    return DescribedOps(
        int(np.median(took)),
        int(np.quantile(took, 0.25)),
        int(np.median(calls["dur_ns"].to_numpy()[launching])),
        int(ops.sum()),
    )
