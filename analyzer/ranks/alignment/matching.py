"""Which rows of different ranks are one collective: by process group and number, else by order; what does not match is counted.

Numbers are torch's `Seq`. Without them collectives of a named group are matched by their order in each step, and only where every
rank of the group that is here has the same kinds in that order. Where not even the group is known, all ranks must have the same
kinds and sizes in a step. Messages between two ranks are matched by who sends to whom and their order: torch numbers
them by process.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.ranks.alignment.table import Table
from analyzer.spans.arrays import BoolArray, Int64Array


class Matched(msgspec.Struct, frozen=True, dict=True):
    """What belongs together.

    Args:
        rows: Rows of the table that belong to an instance with a row of another rank, by instance, shape (matched,).
        instance: Number of the instance of each, 0..n-1, shape (matched,).
        first: Where each instance begins in `rows`, shape (instances,).
        size: Members present of each instance, shape (instances,).
        alone: Rows whose other members are not here, or did not record it.
        contradicting: Rows that could not be told apart or did not agree: other orders, kinds, sizes, twice the same number.
        guessed: Which instances are of a group whose members nobody states, shape (instances,).
    """

    rows: Int64Array
    instance: Int64Array
    first: Int64Array
    size: Int64Array
    alone: int
    contradicting: int
    guessed: BoolArray

    def __len__(self) -> int:
        return len(self.first)


def match(table: Table) -> Matched:
    """Matches all rows of a table."""
    rows = table.rows
    frame = pd.DataFrame(
        {
            "member": rows.member,
            "step": rows.step,
            "group": rows.group,
            "kind": rows.kind,
            "source": 0,
            "target": 0,
            "how": _how(table),
            "number": rows.sequence,
        }
    )
    _pair_up(frame, table)
    contradicting = np.zeros(len(frame), dtype=bool)
    for how in ("order", "world"):
        mine = np.flatnonzero(frame["how"].to_numpy() == _HOWS.index(how))
        if len(mine):
            _number_by_order(frame, mine, contradicting, sizes=_sizes(table) if how == "world" else None)
    contradicting |= _no_member(table)
    return _instances(frame, contradicting, table)


_HOWS = ("number", "pair", "order", "world")


def _no_member(table: Table) -> BoolArray:
    """Rows of a group that, as it is stated, the rank is not in: the rank is another than it is taken for. Shape (rows,)."""
    if not len(table.rows):
        return np.zeros(0, dtype=bool)
    ranks = np.array(table.ranks, dtype=np.int64)
    pairs = np.unique(np.stack([table.rows.group, table.rows.member]), axis=1)
    wrong = np.zeros((len(table.groups), len(ranks)), dtype=bool)
    for group, member in pairs.T.tolist():
        stated = table.groups[group].ranks
        wrong[group, member] = bool(stated) and int(ranks[member]) not in stated
    return np.asarray(wrong[table.rows.group, table.rows.member], dtype=bool)


def without(matched: Matched, wrong: BoolArray) -> Matched:
    """What is matched but for some instances, whose rows contradict one another.

    Args:
        matched: Which belong together.
        wrong: Which instances are none, shape (instances,).
    """
    keep = ~wrong[matched.instance]
    instance = matched.instance[keep]
    _, first, numbers = np.unique(instance, return_index=True, return_inverse=True)
    return Matched(
        rows=matched.rows[keep],
        instance=numbers.astype(np.int64),
        first=first.astype(np.int64),
        size=matched.size[~wrong],
        alone=matched.alone,
        contradicting=matched.contradicting + int((~keep).sum()),
        guessed=matched.guessed[~wrong],
    )


def _guessed(table: Table) -> BoolArray:
    """Which groups have members that nobody states, shape (groups,): all ranks of the job are no guess."""
    world = max((one.world_size or 0 for one in table.summaries), default=0)
    return np.array([not one.ranks and not (world and one.size == world) for one in table.groups] or [True], dtype=bool)


def _how(table: Table) -> Int64Array:
    rows = table.rows
    unnamed = np.array([group.name is None and not group.ranks for group in table.groups] or [False])
    by_order = np.where(unnamed[rows.group] if len(rows) else np.zeros(0, dtype=bool), 3, 2)
    found = np.where(rows.numbered, 0, by_order)
    pairwise = table.pairwise[rows.kind] if len(rows) else np.zeros(0, dtype=bool)
    return np.where(pairwise & rows.paired, 1, found).astype(np.int64)


def _pair_up(frame: pd.DataFrame, table: Table) -> None:
    """Numbers messages by their order in each step between the same two ranks; a send and its receive become of one kind."""
    mine = np.flatnonzero(frame["how"].to_numpy() == 1)
    if not len(mine):
        return
    rows = table.rows
    ranks = np.array(table.ranks, dtype=np.int64)[rows.member[mine]]
    sends = rows.kind[mine] == table.kinds.index("send") if "send" in table.kinds else np.zeros(len(mine), dtype=bool)
    part = pd.DataFrame(
        {
            "source": np.where(sends, ranks, rows.peer[mine]),
            "target": np.where(sends, rows.peer[mine], ranks),
            "member": rows.member[mine],
            "step": rows.step[mine],
            "sends": sends,
        }
    )
    number = part.groupby(["member", "source", "target", "sends", "step"], sort=False).cumcount().to_numpy()
    for column, values in (
        ("source", part["source"].to_numpy()),
        ("target", part["target"].to_numpy()),
        ("number", number),
        ("kind", np.full(len(mine), len(table.kinds))),
        # Whichever group each end names: between two ranks there is one order.
        ("group", np.zeros(len(mine), dtype=np.int64)),
    ):
        _put(frame, column, mine, values)


def _put(frame: pd.DataFrame, column: str, rows: Int64Array, values: npt.NDArray[Any]) -> None:
    changed = frame[column].to_numpy(copy=True)
    changed[rows] = values
    frame[column] = changed


def _sizes(table: Table) -> Int64Array:
    """Bytes that have to be equal on all ranks: of everything but all-to-alls, whose parts may differ; 0 where unknown."""
    rows = table.rows
    uneven = np.array([kind == "all_to_all" for kind in table.kinds] or [False])
    sizes = np.nan_to_num(rows.sent_bytes, nan=0.0).astype(np.int64)
    return np.where(uneven[rows.kind], 0, sizes) if len(rows) else sizes


def _number_by_order(frame: pd.DataFrame, mine: Int64Array, contradicting: BoolArray, sizes: Int64Array | None) -> None:
    """Numbers rows by their order in group and step, and finds the steps in which ranks do not agree on it."""
    part = frame.iloc[mine]
    number = part.groupby(["member", "group", "step"], sort=False).cumcount().to_numpy()
    _put(frame, "number", mine, number)
    what = part["kind"].to_numpy() if sizes is None else part["kind"].to_numpy() * (1 << 48) + sizes[mine]
    part = pd.DataFrame(
        {"group": part["group"].to_numpy(), "step": part["step"].to_numpy(), "member": part["member"].to_numpy()}
    ).assign(number=number, what=what)
    spots = part.groupby(["group", "step", "number"], sort=False)["what"].agg(["min", "max", "size"]).reset_index()
    spots["members"] = spots.groupby(["group", "step"])["size"].transform("max")
    spots["wrong"] = (spots["min"] != spots["max"]) | (spots["size"] != spots["members"])
    wrong = spots.groupby(["group", "step"], sort=False)["wrong"].any()
    keys = pd.MultiIndex.from_frame(part[["group", "step"]])
    contradicting[mine] = wrong.reindex(keys).to_numpy(dtype=bool)


def _instances(frame: pd.DataFrame, contradicting: BoolArray, table: Table) -> Matched:
    # A number is the group's for good, an order counts anew in each step.
    step = np.where(frame["how"].to_numpy() == 0, 0, frame["step"].to_numpy())
    keys = pd.DataFrame(
        {name: frame[name].to_numpy() for name in ("how", "group", "kind", "source", "target", "number")}
        | {"step": step}
    )
    instance = keys.groupby(list(keys.columns), sort=False).ngroup().to_numpy()
    size = np.bincount(instance) if len(instance) else np.zeros(0, dtype=np.int64)
    ends = frame["member"].to_numpy() * (len(size) + 1) + instance
    twice = np.zeros(len(size), dtype=bool)
    order = np.argsort(ends, kind="stable")
    repeated = order[1:][ends[order][1:] == ends[order][:-1]]
    twice[instance[repeated]] = True
    sizes = np.array([one.size or len(one.ranks) or len(table.ranks) for one in table.groups] or [0], dtype=np.int64)
    pairs = frame["how"].to_numpy() == _HOWS.index("pair")
    if len(instance):
        # More members than there are: several groups under one name.
        twice[instance[~pairs & (size[instance] > sizes[table.rows.group])]] = True
    bad = contradicting | (twice[instance] if len(instance) else contradicting)
    good = ~bad & (size[instance] >= 2) if len(instance) else bad
    rows = np.flatnonzero(good)
    rows = rows[np.lexsort((table.rows.start_ns[rows], instance[rows]))]
    _, first, numbers, present = np.unique(instance[rows], return_index=True, return_inverse=True, return_counts=True)
    guess = (
        _guessed(table)[table.rows.group[rows[first]]] & ~pairs[rows[first]] if len(rows) else np.zeros(0, dtype=bool)
    )
    return Matched(
        rows=rows,
        instance=numbers.astype(np.int64),
        first=first.astype(np.int64),
        size=present.astype(np.int64),
        alone=int((~bad & ~good).sum()),
        contradicting=int(bad.sum()),
        guessed=np.asarray(guess, dtype=bool),
    )
