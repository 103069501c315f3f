"""Products by the names of their ops: those that are no layers, of two vectors, and those of which none is made of another."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.host.tree import HostTree
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts

# The ops that compute a product, whatever is above them.
PRODUCTS = ("aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm", "aten::addmv", "aten::mv")
# What multiplies two matrices, and adds nothing, which may have been given by another.
PLAIN_PRODUCTS = frozenset(("aten::matmul", "aten::mm", "aten::bmm"))


def of_two_vectors(tree: HostTree) -> BoolArray:
    """Which spans are a matmul that calls a dot product, shape (spans,)."""
    found = np.zeros(len(tree.frame), dtype=bool)
    found[tree.parent[np.flatnonzero(tree.named("aten::dot"))]] = True
    return found & tree.named("aten::matmul")


def none_of_another(ops: pd.DataFrame, tree: HostTree, members: Int64Array) -> bool:
    """Whether no product among some can take what another gives: nothing that is given has the shape of anything taken.

    What changes a shape is an op of its own, and would stand between them.

    Args:
        ops: `trace.ops`.
        tree: The host's spans.
        members: Rows of the tree; products, all of them.
    """
    codes = np.unique(codes_of(ops["input_dims"])[tree.ops(members)])
    if not len(codes) or codes[0] < 0:
        return False
    texts = distinct_texts(ops["input_dims"])
    taken: set[tuple[int, ...]] = set()
    given: set[tuple[int, ...]] = set()
    for code in codes.tolist():
        factors = [tuple(shape) for shape in tensor_dims(texts[code])[:2]]
        if len(factors) < 2 or min(map(len, factors)) < 2 or factors[0][:-2] != factors[1][:-2]:
            return False
        taken.update(factors)
        given.add((*factors[0][:-1], factors[1][-1]))
    return taken.isdisjoint(given)
