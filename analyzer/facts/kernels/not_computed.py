"""Ops that a recomputation opens and does not compute.

`torch.utils.checkpoint` without reentry ends a recomputation as soon as all that the gradients need is there: by an exception,
raised while the last op saves its inputs, before it computes. Selective checkpointing answers an op with the result it kept. Both
leave an event with the op's shapes. Such an event holds the calls that save, and none of those that the op makes when it computes.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray
from analyzer.spans.open_spans import NONE

# What checkpointing itself calls inside an op: copies of the handles it saves, its switch of who answers.
_SAVES = frozenset(("aten::detach", "detach"))
_BOOKKEEPING = _SAVES | {"PythonDispatchMode"}


class NotComputed(msgspec.Struct, frozen=True, eq=False):
    """Ops of a recomputation that hold nothing but what saving calls.

    Args:
        certainly: Those of a name whose other calls all hold more, shape (ops,).
        perhaps: The rest: nothing tells whether they computed. Shape (ops,).
    """

    certainly: BoolArray
    perhaps: BoolArray


def not_computed(tree: OpTree, again: BoolArray) -> NotComputed:
    """Finds the ops of a recomputation that left an event and did no work.

    Args:
        tree: Ops.
        again: Ops of the recomputation, shape (ops,).
    """
    nobody = np.zeros(len(again), dtype=bool)
    if not again.any():
        return NotComputed(nobody, nobody)
    bookkeeping = tree.named(_BOOKKEEPING.__contains__)
    inside = tree.parent != np.arange(len(again))
    holder = np.where(inside, tree.nearest(~bookkeeping)[tree.parent], NONE)
    works, saves = nobody.copy(), nobody.copy()
    works[holder[~bookkeeping & (holder != NONE)]] = True
    saves[holder[tree.named(_SAVES.__contains__) & (holder != NONE)]] = True
    hollow = again & ~bookkeeping & saves & ~works
    names = tree.ops["name"]
    others = set(names[works & ~hollow].unique())
    untold = set(names[~works & ~hollow].unique())
    told = tree.named(lambda name: name in others and name not in untold)
    return NotComputed(hollow & told, hollow & ~told)
