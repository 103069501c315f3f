"""How many values the ops of a loop compute on, as shapes tell."""

from __future__ import annotations

from math import prod

import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts
from traces.trace import Trace


def most_values(trace: Trace, tree: HostTree, members: Int64Array, computing: BoolArray) -> int | None:
    """The most values that any argument of the computing ops has; None where an op's shapes were not recorded.

    Args:
        trace: The trace.
        tree: The host's spans.
        members: Rows of the tree, all of them ops.
        computing: Which of them compute, shape of `members`: what takes an element has the whole tensor for an argument.
    """
    dims = trace.ops["input_dims"]
    codes = np.unique(codes_of(dims)[tree.ops(members[computing])])
    if not len(codes) or codes[0] < 0:
        return None
    texts = distinct_texts(dims)
    return max(prod(shape) for code in codes.tolist() for shape in (*tensor_dims(texts[code]), []))
