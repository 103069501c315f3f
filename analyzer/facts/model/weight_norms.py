"""Weights that are computed anew from their norm in each pass, as `torch.nn.utils.weight_norm` does."""

from __future__ import annotations

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import is_any
from traces.trace import Trace

# Both forms call it: the hook of old, and the parametrization (torch/nn/utils/parametrizations.py).
_WEIGHT_NORM = ("aten::_weight_norm", "aten::_weight_norm_interface")


def weight_norms(trace: Trace, steps: Steps, host: HostFacts) -> int:
    """How many weights are computed so in the used steps; the op inside another counts with it.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the host's threads do.
    """
    found = host.ops.outermost(is_any(trace.ops["name"], *_WEIGHT_NORM))
    return int((found & steps.host_window.contains(trace.ops["start_ns"].to_numpy())).sum())
