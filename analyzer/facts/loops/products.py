"""Products of two vectors: matmul is an op of a layer, but of two vectors it is one element of a matrix."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.spans.arrays import BoolArray


def of_two_vectors(tree: HostTree) -> BoolArray:
    """Which spans are a matmul that calls a dot product, shape (spans,)."""
    found = np.zeros(len(tree.frame), dtype=bool)
    found[tree.parent[np.flatnonzero(tree.named("aten::dot"))]] = True
    return found & tree.named("aten::matmul")
