"""Products with a sparse factor: the recorded shapes are those of a dense one, and how many numbers it holds is not recorded."""

from __future__ import annotations

from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

UNKNOWN = "a factor is sparse: how many numbers it holds is not recorded"
# Around the product or inside it; of dense factors nobody asks for these.
_AROUND = Pattern(r"aten::_?s?sparse_\w*mm\w*")
_INSIDE = Pattern(r"aten::(?:_?s?sparse_\w*mm\w*|sparse_dim|_nnz|_?indices|_?(?:crow|ccol|row|col)_indices|_?coalesce)")


def sparse_products(tree: OpTree, counted: BoolArray) -> BoolArray:
    """Which ops multiply by a sparse factor. Shape (ops,).

    Args:
        tree: Ops.
        counted: Those whose work is asked for, none inside another; shape (ops,).
    """
    found: BoolArray = counted & (tree.nearest(tree.named(lambda name: _AROUND.fullmatch(name) is not None)) != NONE)
    owner = tree.nearest(counted)[tree.named(lambda name: _INSIDE.fullmatch(name) is not None)]
    found[owner[owner != NONE]] = True
    return found
