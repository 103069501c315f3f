"""Calls of modules by where they stand in the model: the names of the calls around them."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.open_spans import NONE
from analyzer.spans.span_tree import SpanTree


class Paths(msgspec.Struct, frozen=True, eq=False):
    """Groups of calls with the same names around them.

    Args:
        group: Of each call.
        parent: Of each group, -1 for an outermost one; a parent's number is below its children's.
        names: Of each group.
    """

    group: Int64Array
    parent: Int64Array
    names: list[str]

    def accumulated(self, own: FloatArray) -> FloatArray:
        """For each group the sum of `own` over itself and all groups below it."""
        total = own.tolist()
        parent = self.parent.tolist()
        for below in range(len(total) - 1, -1, -1):
            if parent[below] != NONE:
                total[parent[below]] += total[below]
        return np.array(total, dtype=np.float64)

    def in_order(self, start_ns: Int64Array, wanted: BoolArray) -> list[tuple[int, tuple[str, ...]]]:
        """Groups with the names from the outermost to their own: each before those inside it, in the order of first calls.

        Args:
            start_ns: Of each call.
            wanted: Groups to list, shape (groups,); one that is not takes those below along.
        """
        first = np.full(len(self.names), np.iinfo(np.int64).max)
        np.minimum.at(first, self.group, start_ns)
        inside: dict[int, list[int]] = {}
        for one in np.argsort(first, kind="stable")[::-1].tolist():
            inside.setdefault(int(self.parent[one]), []).append(one)
        found = []
        waiting: list[tuple[int, tuple[str, ...]]] = [(one, ()) for one in inside.get(NONE, [])]
        while waiting:
            one, above = waiting.pop()
            if wanted[one]:
                path = (*above, self.names[one])
                found.append((one, path))
                waiting += [(below, path) for below in inside.get(one, [])]
        return found


def paths(calls: SpanTree, name: pd.Series[str], backward: BoolArray) -> Paths:
    """Groups calls by the names around them.

    What checkpointing calls inside the backward pass is outermost there: it belongs where its name stands in the forward pass, if
    that is one place.

    Args:
        calls: The calls.
        name: Of each.
        backward: Which run inside the backward pass, shape (calls,).
    """
    code, names = pd.factorize(name.to_numpy())
    group, parent, of_group = _grouped(calls, code, np.full(len(code), NONE, dtype=np.int64))
    lost = backward & calls.is_root
    if lost.any() and not backward.all():
        around = _around(parent, _only_group(code[~backward], group[~backward], code))
        adopted = np.where(lost, _first_call(around, group), NONE)
        group, parent, of_group = _grouped(calls, code, adopted)
    return Paths(group, parent, [str(names[one]) for one in of_group.tolist()])


def _only_group(code: Int64Array, group: Int64Array, wanted: Int64Array) -> Int64Array:
    """For each wanted name the one group that has it; -1 where several have."""
    count = int(wanted.max()) + 1
    least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, NONE)
    np.minimum.at(least, code, group)
    np.maximum.at(most, code, group)
    found: Int64Array = np.where(least == most, most, NONE)[wanted]
    return found


def _around(parent: Int64Array, group: Int64Array) -> Int64Array:
    return np.append(parent, NONE)[group]


def _first_call(wanted: Int64Array, group: Int64Array) -> Int64Array:
    """For each wanted group its first call; -1 stays."""
    first = np.full(int(group.max()) + 1, len(group))
    np.minimum.at(first, group, np.arange(len(group)))
    found: Int64Array = np.append(first, NONE)[wanted]
    return found


def _grouped(calls: SpanTree, code: Int64Array, adopted: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Groups by name and the group around; around an outermost call stands the call that adopts it.

    Returns:
        Group of each call; parent and code of each group.
    """
    # With a last entry for what is around an outermost call.
    group = np.full(len(code) + 1, NONE, dtype=np.int64)
    known: dict[tuple[int, int], int] = {}
    late = calls.is_root & (adopted != NONE)
    for rows in calls.levels[1:]:
        late[rows] = late[calls.parent[rows]]
    for chosen in (~late, late):
        for level in calls.levels:
            rows = level[chosen[level]]
            around = group[np.where(calls.is_root[rows], adopted[rows], calls.parent[rows])]
            pairs = zip(around.tolist(), code[rows].tolist(), strict=True)
            group[rows] = np.array([known.setdefault(pair, len(known)) for pair in pairs], dtype=np.int64)
    pairs_of = np.array(list(known), dtype=np.int64).reshape(-1, 2)
    return group[:-1], pairs_of[:, 0], pairs_of[:, 1]
