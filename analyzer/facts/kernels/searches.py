"""Searches for the fastest algorithm inside steps: a matrix op that runs several kernels and times each of them.

cuDNN, MIOpen and torch's tunable GEMMs run every candidate on the first call with a shape, and wait to learn how long each took.
Otherwise an op on matrices launches what it has chosen and waits for nothing.

Source: `cudnnGetConvolutionForwardAlgorithm` and `cudnnFindConvolutionForwardAlgorithm` of the cuDNN API; ATen/cuda/tunable.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.facts.kernels.precision import CONV_OP, MATRIX_OP
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import distinct_columns
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# A backward pass has two products, each with a kernel of its own; what tries candidates has more.
_CANDIDATES = 3
# And waits for each, or for each but one.
_WAITS = 2


class Searches(msgspec.Struct, frozen=True):
    """Calls of matrix ops in the used steps that try candidates.

    Args:
        calls: How many calls there are.
        shapes: How many distinct ops and shapes they have; 0 where shapes were not recorded.
        convolution: Whether most of them are convolutions; else products of matrices.
        candidates: Kernels that were tried; shape (kernels,).
        host: When the host is in such a call.
        spans: The device's time for them: all candidates but the shortest of each call, and idle time inside the calls.
        steps_seen: Used steps with such a call.
        first_only: Whether they all lie in the first used step.
    """

    calls: int
    shapes: int
    convolution: bool
    candidates: BoolArray
    host: IntervalSet
    spans: IntervalSet
    steps_seen: int
    first_only: bool


def searches(trace: Trace, steps: Steps, host: HostFacts, kernels: Kernels, idle: IntervalSet) -> Searches:
    """Finds matrix ops that launch several matrix kernels and wait for the device between them.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the host's threads do.
        kernels: The kernels of the used steps.
        idle: When the device does nothing.
    """
    tree = host.ops
    outer = tree.outermost(tree.named(lambda name: MATRIX_OP.match(name) is not None))
    above = tree.nearest(outer)
    matrix = kernels.is_family(*MATRIX_FAMILIES)
    of = np.where(matrix, pick_row(above, kernels.frame["op"].to_numpy()), NONE)
    waits = _waits(trace, host, above)
    tried = np.bincount(of[of != NONE], minlength=len(tree.ops))
    kinds = _kinds(of, codes_of(kernels.frame["name"]), len(tree.ops))
    found = np.flatnonzero((tried >= _CANDIDATES) & (kinds >= _WAITS) & (waits >= _WAITS))
    if not len(found):
        return Searches(
            0, 0, convolution=False, candidates=kernels.none, host=EMPTY, spans=EMPTY, steps_seen=0, first_only=False
        )
    candidates = np.isin(of, found)
    ops = tree.ops.iloc[found]
    inside = IntervalSet.of_rows(ops) & steps.host_window
    step = steps.of_host(ops["start_ns"].to_numpy())
    dims = ops["input_dims"].astype("str")
    known = dims.str.len() > len("[]")
    names = ops["name"].astype("str")
    return Searches(
        calls=len(found),
        shapes=len(set(zip(names[known], dims[known], strict=True))),
        convolution=2 * int(matching(ops["name"], CONV_OP.search).sum()) > len(found),
        candidates=candidates,
        host=inside,
        spans=(kernels.spans(candidates & ~_kept(kernels, candidates, of)) | (idle & inside)) & steps.window,
        steps_seen=len(np.unique(step[step >= 0])),
        first_only=bool((step[step >= 0] == 0).all()),
    )


def _waits(trace: Trace, host: HostFacts, above: Int64Array) -> Int64Array:
    """How often the host waits for the device inside each op, shape (ops,)."""
    calls = trace.runtime
    rows = np.flatnonzero(is_any(calls["kind"], "sync"))
    at = host.ops.enclosing(calls["thread"].to_numpy()[rows], calls["start_ns"].to_numpy()[rows])
    op = pick_row(above, at)
    found: Int64Array = np.bincount(op[op != NONE], minlength=len(above))
    return found


def _kinds(of: Int64Array, name: Int64Array, ops: int) -> Int64Array:
    """How many distinct kernels belong to each op, shape (ops,)."""
    mine = of != NONE
    pairs, _ = distinct_columns(np.stack([of[mine], name[mine]]))
    found: Int64Array = np.bincount(pairs[0], minlength=ops)
    return found


def _kept(kernels: Kernels, candidates: BoolArray, of: Int64Array) -> BoolArray:
    """The shortest candidate of each call, shape (kernels,): no choice is faster than that."""
    rows = np.flatnonzero(candidates)
    order = rows[np.lexsort((kernels.frame["dur_ns"].to_numpy()[rows], of[rows]))]
    _, first = np.unique(of[order], return_index=True)
    kept = kernels.none
    kept[order[first]] = True
    return kept
