"""PG005 launches lost together with their kernels: neither is there to miss the other, and the device seems to wait."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.device.launches import LAUNCHING
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.complete.coverage import LOST_CAUTION
from analyzer.facts.health.complete.repairs import FEWER_STEPS
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import is_any, matching
from analyzer.units import share
from traces.ordering import holds_start
from traces.patterns import Pattern
from traces.trace import Capability, Trace

# Ops that put work on the device whenever they are called for it: in recorded traces none of over 10,000 lacks its launch.
_LAUNCHING = Pattern(
    r"aten::(?:(?:add)?mm|(?:baddb|b)mm|(?:cudnn|miopen)_(?:convolution|convolution_transpose|batch_norm)(?:_backward)?"
    r"|convolution_backward|native_(?:batch|layer)_norm(?:_backward)?|threshold_backward"
    r"|_(?:flash|efficient)_attention_(?:forward|backward))$"
)
_MIN_OPS = 20


def check(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Iterator[Symptom]:
    """Matrix products, convolutions and the like of the used steps in which nothing is launched."""
    if device.main is None or Capability.LAUNCHES not in trace.capabilities:
        return
    ops, calls = trace.ops, trace.runtime
    launching = is_any(calls["kind"], *LAUNCHING)
    if not np.isin(calls["thread"].to_numpy()[launching], ops["thread"].to_numpy()).any():
        # Ops hand their work to a thread that launches it (Ascend's task queue).
        return
    start, end, thread = (ops[name].to_numpy() for name in ("start_ns", "end_ns", "thread"))
    chosen = matching(ops["name"], _LAUNCHING.match) & steps.host_window.contains(start)
    # A compiler tries ops out on tensors without data.
    chosen &= ~host.threads.anywhere("compile").contains(start)
    rows = np.flatnonzero(chosen)
    spans = (thread[rows], start[rows], end[rows])
    lost = int(
        (~holds_start(*spans, calls["thread"].to_numpy()[launching], calls["start_ns"].to_numpy()[launching])).sum()
    )
    if len(rows) >= _MIN_OPS and lost >= LOST_CAUTION * len(rows):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"{lost:,} of {len(rows):,} matrix products, convolutions and the like ({share(lost / len(rows))}) launch nothing: "
            "their launches and kernels were lost, and idle time is overstated, or they run on the CPU.",
            FEWER_STEPS,
            lost,
        )
