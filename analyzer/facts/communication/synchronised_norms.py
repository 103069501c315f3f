"""Batch normalisation over all ranks: collectives inside `SyncBatchNorm`, which the layer behind it waits for."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.communication.collectives import Collectives, call_spans
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY, IntervalSet
from traces.patterns import Pattern

# The autograd function of torch.nn.SyncBatchNorm, its node, and apex's.
_NORM = Pattern(r"(?:autograd::engine::evaluate_function: )?(?:Sync|sync)_?[Bb]atch_?[Nn]orm\w*$")
_FORWARD = Pattern(r"(?:Sync|sync)_?[Bb]atch_?[Nn]orm(?!\w*Backward)\w*$")


class SynchronisedNorms(msgspec.Struct, frozen=True):
    """Synchronised normalisations in the used steps.

    Args:
        calls: Of the forward pass.
        collectives: Collectives inside them, forward and backward.
        exposed: The part of the exposed communication that is theirs.
    """

    calls: int
    collectives: int
    exposed: IntervalSet


def synchronised_norms(
    device: DeviceFacts, steps: Steps, host: HostFacts, kernels: KernelFacts, collectives: Collectives
) -> SynchronisedNorms:
    """Finds them by the ranges that autograd leaves."""
    tree = host.ops
    mine = tree.named(lambda name: _NORM.match(name) is not None)
    inside = steps.host_window.contains(tree.ops["start_ns"].to_numpy())
    if not (mine & inside).any():
        return SynchronisedNorms(0, 0, EMPTY)
    forward = tree.outermost(tree.named(lambda name: _FORWARD.match(name) is not None)) & inside
    calls = collectives.calls
    spans = IntervalSet.of_rows(tree.ops, np.flatnonzero(mine & inside))
    own = spans.contains(calls["start_ns"].to_numpy())
    exposed = collectives.exposed & call_spans(device, steps, kernels, IntervalSet.of_rows(calls, own))
    return SynchronisedNorms(int(forward.sum()), int(own.sum()), exposed)
