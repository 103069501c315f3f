"""PG005 launches lost together with their kernels: neither is there to miss the other, and the device seems to wait."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.grouping import rows_by
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.labels import is_any, matching
from analyzer.units import share
from traces.trace import Capability

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Ops that put work on the device whenever they are called for it: in recorded traces none of over 10,000 lacks its launch.
_LAUNCHING = re.compile(
    r"aten::(?:(?:add)?mm|(?:baddb|b)mm|(?:cudnn|miopen)_(?:convolution|convolution_transpose|batch_norm)(?:_backward)?"
    r"|convolution_backward|native_(?:batch|layer)_norm(?:_backward)?|threshold_backward"
    r"|_(?:flash|efficient)_attention_(?:forward|backward))$"
)
_CALLS = ("launch", "graph_launch", "memcpy", "memset")
# As of launches without their kernel.
_LOST = 0.1
_MIN_OPS = 20


def check(facts: Facts) -> Iterator[Symptom]:
    """Matrix products, convolutions and the like of the used steps in which nothing is launched."""
    if facts.device is None or Capability.LAUNCHES not in facts.trace.capabilities:
        return
    ops, calls = facts.trace.ops, facts.trace.runtime
    calls = calls[is_any(calls["kind"], *_CALLS)]
    start, end, thread = (ops[name].to_numpy() for name in ("start_ns", "end_ns", "thread"))
    chosen = matching(ops["name"], _LAUNCHING.match) & facts.host_window().contains(start)
    # A compiler tries ops out on tensors without data.
    chosen &= ~facts.host.anywhere("compile").contains(start)
    rows = np.flatnonzero(chosen)
    launching = np.zeros(len(rows), dtype=bool)
    by_thread = rows_by(calls["thread"].to_numpy())
    at = calls["start_ns"].to_numpy()
    for one, mine in rows_by(thread[rows]).items():
        begins = np.sort(at[by_thread.get(one, np.empty(0, dtype=np.int64))])
        here = rows[mine]
        launching[mine] = np.searchsorted(begins, end[here]) > np.searchsorted(begins, start[here])
    lost = int((~launching).sum())
    if len(rows) >= _MIN_OPS and lost >= _LOST * len(rows):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"{lost:,} of {len(rows):,} matrix products, convolutions and the like ({share(lost / len(rows))}) launch nothing: "
            "their launches and kernels were lost, and idle time is overstated, or they run on the CPU.",
            "record fewer steps, or raise the profiler's buffer size; do not run another profiler beside it",
            lost,
        )
