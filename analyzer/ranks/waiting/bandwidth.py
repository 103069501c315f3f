"""How fast groups move data, and which of them is slower than equal ones.

Algorithm bandwidth is bytes over time; bus bandwidth counts what goes over each link, by the factors of nccl-tests
(PERFORMANCE.md). Only collectives with all members present count: else nobody knows when the last one came.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import Link, Uneven
from analyzer.ranks.summary_part import MOST_RANKS
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array

# A group that is so much slower than equal ones, in the median, is slow: protocols and neighbours make up less.
SLOW_RATIO = 0.7
_EQUAL_GROUPS = 2
_TIMES = 3
# Small messages tell latency, not bandwidth (nccl-tests reach half of their bandwidth at a few megabytes).
_LEAST_BYTES = 1_000_000
_LISTED = 200
# Each slow one is a replay of the job.
_PLAYED = 4
_UNEVEN_RATIO = 1.2


def factor(kind: str, members: int) -> float:
    """What each link carries of a byte that a collective moves."""
    if members < 2:
        return 1.0
    if kind == "all_reduce":
        return 2 * (members - 1) / members
    return (members - 1) / members if kind in ("all_gather", "reduce_scatter", "all_to_all") else 1.0


class Unlike(msgspec.Struct, frozen=True):
    """Links of which nobody can say whether they are slow or their equals fast.

    Args:
        link: The busiest of them.
        slower: How many times as long it takes as its equals.
        many: How many there are.
        equals: How many equal ones are as fast as that.
    """

    link: Link
    slower: float
    many: int
    equals: int


class Links(msgspec.Struct, frozen=True):
    """How fast data moves.

    Args:
        every: The links, slow ones first, then the busiest.
        slow: Of each slow one the transfers of all instances with that one as fast as equal ones, shape (instances,).
        ideal_ns: The same with all slow ones as fast.
        unlike: Those that differ from equal ones as much as slow ones do, where as many are slow as are not; None without any.
        alike_ns: Transfers with those as fast as their like, shape (instances,).
        uncompared_ns: Exposed time in transfers with fewer than two equal ones, nanoseconds a step, a mean over the ranks.
    """

    every: tuple[Link, ...]
    slow: tuple[tuple[Link, FloatArray], ...]
    ideal_ns: FloatArray
    unlike: Unlike | None
    alike_ns: FloatArray
    uncompared_ns: float


_PLACE = ["group", "pair", "kind", "bytes"]
_EQUAL = ["kind", "bytes", "members", "hosts"]


def links(table: Table, matched: Matched, found: Arrivals) -> Links:
    """What each group, or pair of ranks that exchange messages, moves how fast; and which is slower than equal ones."""
    ideal = found.transfer_ns.astype(np.float64)
    frame = transfers(table, matched, found)
    if not len(frame):
        return Links((), (), ideal, None, ideal, 0.0)
    median = frame.groupby([*_PLACE, "members", "hosts"], sort=False)["rate"].agg(["median", "size"]).reset_index()
    median["peers"], median["like"] = _rates_of_equals(median)
    median["busy"] = median["bytes"] * median["size"] / median["median"]
    weighs = (median["size"] >= _TIMES) & (median["bytes"] >= _LEAST_BYTES)
    median["slow"] = (weighs & (median["median"] < SLOW_RATIO * median["peers"])).to_numpy(dtype=bool)
    unlike = median[weighs & ~median["slow"] & (median["median"] < SLOW_RATIO * median["like"])]
    order = median.sort_values(["slow", "busy"], ascending=False, kind="stable")[:_LISTED]
    slow = order[order["slow"]]
    return Links(
        every=tuple(_link(table, row) for row in order.to_dict("records")),
        slow=tuple(
            (_link(table, row), _sped_up(ideal, frame, [row], "peers")) for row in slow[:_PLAYED].to_dict("records")
        ),
        ideal_ns=_sped_up(ideal, frame, median[median["slow"]].to_dict("records"), "peers"),
        unlike=_unlike(table, median, unlike),
        alike_ns=_sped_up(ideal, frame, unlike.to_dict("records"), "like"),
        uncompared_ns=_uncompared(table, matched, found, frame, median[weighs & median["peers"].notna()]),
    )


def _rates_of_equals(median: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """What the equals of each place move in the median, and the second fastest or other one of them, shape (places,).

    NaN where there are too few.
    """
    peers, like = np.full(len(median), np.nan), np.full(len(median), np.nan)
    every = median["median"].to_numpy(dtype=np.float64)
    for _, rows in median.groupby(_EQUAL, sort=False).indices.items():
        rates = every[rows]
        if len(rows) > _EQUAL_GROUPS:
            peers[rows] = [float(np.median(np.delete(rates, place))) for place in range(len(rows))]
            # Where most are slow the median is: two that are faster say that something differs.
            like[rows] = np.sort(rates)[-2]
        elif len(rows) == _EQUAL_GROUPS:
            like[rows] = rates[::-1]
    return peers, like


def _unlike(table: Table, median: pd.DataFrame, unlike: pd.DataFrame) -> Unlike | None:
    """The busiest link that is slower than its equals, and how many like it there are on either side."""
    for row in unlike.sort_values("busy", ascending=False, kind="stable")[:1].to_dict("records"):
        equal = np.logical_and.reduce([(median[key] == row[key]).to_numpy(dtype=bool) for key in _EQUAL])
        fast = (median["median"] * SLOW_RATIO > row["median"]).to_numpy(dtype=bool)
        many = int((equal & median.index.isin(unlike.index)).sum())
        return Unlike(_link(table, row), float(row["like"] / row["median"]), many, int((equal & fast).sum()))
    return None


def _link(table: Table, row: Mapping[Hashable, Any]) -> Link:
    group, kind = table.groups[int(row["group"])], str(row["kind"])
    pair = int(row["pair"])
    return Link(
        group=group.name,
        ranks=group.ranks if pair < 0 else (pair // MOST_RANKS, pair % MOST_RANKS),
        kind=kind,
        size_bytes=int(row["bytes"]),
        count=int(row["size"]),
        bytes_per_s=float(row["median"]),
        bus_bytes_per_s=float(row["median"]) * factor(kind, int(row["members"])),
        peers_bytes_per_s=None if np.isnan(row["peers"]) else float(row["peers"]),
        slow=bool(row["slow"]),
    )


def _sped_up(
    transfer_ns: FloatArray, frame: pd.DataFrame, chosen: Sequence[Mapping[Hashable, Any]], rate: str
) -> FloatArray:
    """Transfers where some places move data at the rate in a column of theirs, shape (instances,)."""
    ideal = transfer_ns.copy()
    for row in chosen:
        mine = np.logical_and.reduce([(frame[key] == row[key]).to_numpy(dtype=bool) for key in _PLACE])
        ideal[frame["instance"].to_numpy()[mine]] *= row["median"] / row[rate]
    return ideal


def _uncompared(table: Table, matched: Matched, found: Arrivals, frame: pd.DataFrame, compared: pd.DataFrame) -> float:
    """Exposed time in transfers with fewer than two equal ones, nanoseconds a step, a mean over the ranks."""
    keys = pd.MultiIndex.from_frame(frame[_PLACE])
    known = np.asarray(keys.isin(pd.MultiIndex.from_frame(compared[_PLACE])), dtype=bool)
    lone = np.zeros(len(matched), dtype=bool)
    lone[frame["instance"].to_numpy()[~known]] = True
    rows = matched.rows
    moving = np.minimum(table.rows.exposed_ns[rows], table.rows.dur_ns[rows] - found.waiting_ns)
    steps = sum(max(len(one.steps), 1) for one in table.summaries) or 1
    return float(np.clip(moving, 0, None)[lone[matched.instance]].sum()) / steps


def transfers(table: Table, matched: Matched, found: Arrivals) -> pd.DataFrame:
    """One row per instance whose transfer is known.

    Columns: instance, group, pair (both ranks of messages, else -1), kind (name), bytes, members, hosts, rate (bytes a second).
    """
    rows = table.rows
    sizes = np.fmax(rows.sent_bytes, rows.received_bytes)
    instance = np.flatnonzero(found.complete & found.waits & (found.transfer_ns > 0))
    last = found.last[instance]
    pairs = table.pairwise[rows.kind[last]] & rows.paired[last]
    ranks = np.array(table.ranks, dtype=np.int64)[rows.member[last]] if len(last) else last
    low, high = np.minimum(ranks, rows.peer[last]), np.maximum(ranks, rows.peer[last])
    names = np.array([*table.kinds, ""], dtype=object)[rows.kind[last]]
    frame = pd.DataFrame(
        {
            "instance": instance,
            "group": rows.group[last],
            "pair": np.where(pairs, low * MOST_RANKS + high, -1),
            # Whichever end came last: it is one message.
            "kind": np.where(pairs, "send", names),
            "bytes": sizes[last],
            "members": matched.size[instance],
            "hosts": _hosts_of(table, rows.group[last], low, high, pairs),
            "transfer_ns": found.transfer_ns[instance],
        }
    )
    frame = frame[(frame["bytes"] > 0).to_numpy(dtype=bool)]
    return frame.assign(rate=frame["bytes"] / frame["transfer_ns"] * 1e9)


def _hosts_of(table: Table, group: Int64Array, low: Int64Array, high: Int64Array, pairs: BoolArray) -> Int64Array:
    """Over how many hosts each transfer goes, shape (instances,)."""
    host = {one.rank: one.host for one in table.summaries}
    whole = _hosts(table)[group]
    both = [
        len({host.get(one), host.get(other)}) if pair else 0
        for one, other, pair in zip(low.tolist(), high.tolist(), pairs.tolist(), strict=True)
    ]
    return np.where(pairs, np.array(both, dtype=np.int64), whole)


def _hosts(table: Table) -> Int64Array:
    """Over how many hosts each group spreads: links inside a machine are others than those between machines."""
    host = {one.rank: one.host for one in table.summaries}
    return np.array([len({host.get(rank) for rank in group.ranks}) for group in table.groups] or [0], dtype=np.int64)


def uneven(table: Table, matched: Matched, found: Arrivals) -> tuple[Uneven, ...]:
    """All-to-alls whose members get more than a fifth beyond the mean, by group, the most first."""
    rows = table.rows
    kinds = np.array([name == "all_to_all" for name in table.kinds] or [False], dtype=bool)
    if not len(matched):
        return ()
    mine = kinds[rows.kind[matched.rows]] & found.complete[matched.instance]
    at = matched.rows[mine]
    got = np.where(np.isnan(rows.received_bytes[at]), rows.sent_bytes[at], rows.received_bytes[at])
    each = {"group": rows.group[at], "member": rows.member[at], "instance": matched.instance[mine], "bytes": got}
    frame = pd.DataFrame(each).dropna()
    # What brings results back gives each what it had: those say nothing of who gets more.
    gets = frame.groupby("instance", sort=False)["bytes"]
    frame = frame[(gets.transform("min") < gets.transform("max")).to_numpy(dtype=bool)]
    if not len(frame):
        return ()
    by_rank = frame.groupby(["group", "member"], sort=False)["bytes"].agg(["mean", "size"]).reset_index()
    made = []
    for row in _most(by_rank).to_dict("records"):
        group = table.groups[int(row["group"])]
        rank = table.ranks[int(row["member"])]
        made.append(
            Uneven(group=group.name, ranks=group.ranks, rank=rank, ratio=float(row["ratio"]), count=int(row["size"]))
        )
    return tuple(sorted(made, key=lambda one: -one.ratio))


def _most(by_rank: pd.DataFrame) -> pd.DataFrame:
    """Of each group the member that gets the most, where that is much beyond the mean."""
    usual = by_rank.groupby("group", sort=False)["mean"].transform("mean")
    ratio = by_rank["mean"] / usual.where(usual > 0)
    found = by_rank.assign(ratio=ratio).sort_values("ratio", ascending=False, kind="stable").drop_duplicates("group")
    return found[(found["ratio"] >= _UNEVEN_RATIO).to_numpy(dtype=bool)]
