"""What a program does with a batch before its model gets it, by the ops between the loader and the first one that has a gradient.

Ops carry the number that the next node of the graph will have: the last op with the lowest number among those that the backward
pass goes back to is the first of the graph, and what runs between the loader and it keeps no graph.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.steps.find import Steps
from analyzer.spans.columns import present
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# Augmentation draws random numbers; arithmetic and a frozen network do not.
_DRAWS = Pattern(
    r"aten::(?:uniform_?|bernoulli_?|random_|normal_?|rand|randn|randint|rand_like|randn_like|randperm|multinomial)$"
)
# What makes a network of what runs there; blurring is a convolution, too.
_NETWORK = Pattern(
    r"aten::(?:linear|addmm|\w*batch_norm|\w*layer_norm|\w*group_norm|\w*rms_norm|embedding\w*|lstm|gru|scaled_dot_product_attention"
    r"|_native_multi_head_attention|relu_?|gelu|silu_?|max_pool\w*)$"
)


class Prepared(msgspec.Struct, frozen=True):
    """Preparing batches in the training loop.

    Args:
        spans: From the end of the loader's call to the first op of the graph, in the used steps.
        batches: How many batches that is.
        drawing: For how many of them random numbers are drawn.
        drawn: When they are drawn.
        of_network: Whether layers of a network run there: a frozen one, such as a teacher's.
    """

    spans: IntervalSet
    batches: int
    drawing: int
    drawn: IntervalSet
    of_network: bool


NONE = Prepared(EMPTY, 0, 0, EMPTY, False)


def prepared(trace: Trace, steps: Steps, tree: OpTree, main: int | None) -> Prepared:
    """What lies between the loader and the model, batch by batch; none without a loader or a backward pass."""
    ranges, ops = trace.annotations, trace.ops
    loads = ranges[(ranges["kind"] == "loader").to_numpy() & (ranges["thread"] == main).to_numpy()]
    begins = loads["end_ns"].to_numpy()
    begins = np.sort(begins[steps.host_window.contains(begins)])
    if main is None or not len(begins):
        return NONE
    start = ops["start_ns"].to_numpy()
    known = present(ops["sequence"])
    number = ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)
    node = matching(ops["name"], is_backward_node)
    of_main = (ops["thread"] == main).to_numpy()
    mine = known & ~node & of_main
    draws, network = (matching(ops["name"], pattern.match) for pattern in (_DRAWS, _NETWORK))
    roots = start[of_main & (tree.depth == 0)]
    edges = np.append(np.searchsorted(start, begins), len(start)).tolist()
    spans, drawing, layers = [], 0, False
    for begin, low, high in zip(begins.tolist(), edges, edges[1:], strict=False):
        inside = slice(low, high)
        going_back = number[inside][node[inside] & known[inside]]
        if not len(going_back):
            continue
        first = start[inside][mine[inside] & (number[inside] == going_back.min())]
        if not len(first):
            continue
        # The outermost op that holds it: what it calls carries its number as well.
        end = int(roots[np.searchsorted(roots, first[-1], side="right") - 1])
        here = slice(low, low + int(np.searchsorted(start[inside], end)))
        spans.append((begin, max(begin, end)))
        drawing += bool(draws[here].any())
        layers = layers or bool(network[here].any())
    whole = IntervalSet.of(spans) & steps.window
    return Prepared(whole, len(spans), drawing, IntervalSet.of_rows(ops[draws & of_main]) & whole, layers)
