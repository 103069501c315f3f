"""What autograd's anomaly mode does: NaN checks directly below the nodes of the backward pass, stacks in the forward pass.

The stack of a node is recorded when its op has begun and before that op calls the next one.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.wait_reasons import anomaly_checks
from analyzer.spans.columns import present
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.reader.names.autograd import BACKWARD_NODE
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# What a test for NaN is, as anomaly mode makes it.
_TESTS = ("aten::isnan", "aten::_is_any_true")


class AnomalyChecks(msgspec.Struct, frozen=True):
    """The checks in the used steps.

    Args:
        nodes: Nodes of the backward pass that compute something (have an op below).
        checked: Those with a NaN check directly below.
        host: Time inside the checks.
        stacks: From the start of each forward op that has a node in the backward pass to the op it calls first, which holds the
            recording of its stack where the mode is on; all of an op that calls none.
        steps_seen: Used steps with a check.
    """

    nodes: int
    checked: int
    host: IntervalSet
    stacks: IntervalSet
    steps_seen: int

    @property
    def ratio(self) -> float:
        """Share of nodes with a check; 0 without nodes."""
        return self.checked / self.nodes if self.nodes else 0.0


class EagerChecks(msgspec.Struct, frozen=True):
    """What ops of the used steps tell where no function of autograd's engine is around them, as in traces of torch 1.x.

    Args:
        backward: Whether nodes of a backward pass run.
        tests: Whether any op tests for NaN.
    """

    backward: bool
    tests: bool


def eager_checks(trace: Trace, steps: Steps) -> EagerChecks:
    """Looks at the names of the ops."""
    inside = steps.host_window.contains(trace.ops["start_ns"].to_numpy())
    names = trace.ops["name"]
    backward, tests = matching(names, is_backward_node), is_any(names, *_TESTS)
    return EagerChecks(bool((backward & inside).any()), bool((tests & inside).any()))


def anomaly(trace: Trace, steps: Steps, host: HostFacts) -> AnomalyChecks:
    """Counts nodes and checks."""
    tree = host.tree
    start, end = tree.frame["start_ns"].to_numpy(), tree.frame["end_ns"].to_numpy()
    inside = steps.host_window.contains(start)
    node = tree.matching(BACKWARD_NODE) & inside
    checks = anomaly_checks(tree) & inside
    # A test for NaN is what tells the mode; the reads beside it alone do not.
    tests = checks & tree.named(*_TESTS)
    child = (tree.parent != np.arange(len(tree.parent))) & tree.of_source("ops")
    computing = np.zeros(len(start), dtype=bool)
    computing[tree.parent[child]] = True
    checked = np.unique(tree.parent[tests])
    spans = IntervalSet(start[checks], end[checks])
    return AnomalyChecks(
        int((node & computing).sum()),
        int(node[checked].sum()),
        spans & steps.window,
        _heads(trace, host) & steps.window if tests.any() else EMPTY,
        steps.count_with(spans),
    )


def _heads(trace: Trace, host: HostFacts) -> IntervalSet:
    ops, tree = trace.ops, host.ops
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    backward = tree.nearest(tree.named(lambda name: name.startswith(BACKWARD_NODE))) >= 0
    known = present(ops["sequence"])
    sequence = ops["sequence"].to_numpy(dtype=np.int64, na_value=0)
    forward = known & ~backward & np.isin(sequence, sequence[known & backward])
    first = end.copy()
    child = tree.parent != np.arange(len(ops))
    np.minimum.at(first, tree.parent[child], start[child])
    return IntervalSet(start[forward], first[forward])
