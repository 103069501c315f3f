"""Which operator asks for what an op does: what the program calls keeps its name, whatever a library does inside.

It is the outermost operator of a library around the op; in the backward pass the node.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import Int64Array
from analyzer.spans.open_spans import NONE
from traces.reader.names.autograd import OF_NODE
from traces.reader.names.vocabulary import is_backward_node


def asking(tree: OpTree) -> Int64Array:
    """For each op the row of the operator or node that asks for it, itself included; of the outermost op where there is none.

    Around operators stand ranges that torch, or whoever recorded the program, wrote as ops: wrappers and compiled regions.
    """
    found = tree.nearest(tree.outermost(tree.named(lambda name: "::" in name or is_backward_node(name))))
    roots = tree.nearest(tree.parent == np.arange(len(tree.parent)))
    return np.where(found == NONE, roots, found)


def operator_name(name: str) -> str:
    """The name without what autograd's engine writes before that of a node."""
    return name.removeprefix(OF_NODE)
