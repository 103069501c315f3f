"""How fast groups move data, and which of them is slower than equal ones.

Algorithm bandwidth is bytes over time; bus bandwidth counts what goes over each link, by the factors of nccl-tests
(PERFORMANCE.md). Only collectives with all members present count: else nobody knows when the last one came.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analyzer.ranks.arrivals import Arrivals
from analyzer.ranks.document import Link, Uneven
from analyzer.ranks.matching import Matched
from analyzer.ranks.table import Table
from analyzer.spans.arrays import FloatArray, Int64Array

# A group that is so much slower than equal ones, in the median, is slow: protocols and neighbours make up less.
SLOW_RATIO = 0.7
_EQUAL_GROUPS = 2
_TIMES = 3
# Small messages tell latency, not bandwidth (nccl-tests reach half of their bandwidth at a few megabytes).
_LEAST_BYTES = 1_000_000
_LISTED = 200
_UNEVEN_RATIO = 1.2


def factor(kind: str, members: int) -> float:
    """What each link carries of a byte that a collective moves."""
    if members < 2:
        return 1.0
    if kind == "all_reduce":
        return 2 * (members - 1) / members
    return (members - 1) / members if kind in ("all_gather", "reduce_scatter", "all_to_all") else 1.0


def links(table: Table, matched: Matched, found: Arrivals) -> tuple[tuple[Link, ...], FloatArray]:
    """What each group moves how fast; and the transfer of each instance where slow groups are as fast as equal ones.

    Returns:
        The links, slow ones first, then the busiest; and int64 nanoseconds of shape (instances,).
    """
    ideal = found.transfer_ns.astype(np.float64)
    frame = _transfers(table, matched, found)
    if not len(frame):
        return (), ideal
    median = frame.groupby(["group", "kind", "bytes", "members", "hosts"], sort=False)["rate"].agg(["median", "size"])
    median = median.reset_index()
    equal = median.groupby(["kind", "bytes", "members", "hosts"], sort=False)
    median["peers"] = np.nan
    for _, rows in equal.indices.items():
        if len(rows) > _EQUAL_GROUPS:
            rates = median["median"].to_numpy()[rows]
            for place, row in enumerate(rows):
                median.loc[median.index[row], "peers"] = float(np.median(np.delete(rates, place)))
    slow = (median["median"] < SLOW_RATIO * median["peers"]) & (median["size"] >= _TIMES)
    slow &= median["bytes"] >= _LEAST_BYTES
    median["slow"] = slow.to_numpy(dtype=bool)
    _speed_up(ideal, frame, median[median["slow"]])
    median["busy"] = median["bytes"] * median["size"] / median["median"]
    order = median.sort_values(["slow", "busy"], ascending=False, kind="stable")[:_LISTED]
    return tuple(_link(table, row) for row in order.to_dict("records")), ideal


def _link(table: Table, row: Mapping[Hashable, Any]) -> Link:
    group, kind = table.groups[int(row["group"])], table.kinds[int(row["kind"])]
    return Link(
        group=group.name,
        ranks=group.ranks,
        kind=kind,
        size_bytes=int(row["bytes"]),
        count=int(row["size"]),
        bytes_per_s=float(row["median"]),
        bus_bytes_per_s=float(row["median"]) * factor(kind, int(row["members"])),
        peers_bytes_per_s=None if np.isnan(row["peers"]) else float(row["peers"]),
        slow=bool(row["slow"]),
    )


def _speed_up(ideal: FloatArray, frame: pd.DataFrame, slow: pd.DataFrame) -> None:
    for row in slow.to_dict("records"):
        mine = (frame["group"] == row["group"]) & (frame["kind"] == row["kind"]) & (frame["bytes"] == row["bytes"])
        ideal[frame["instance"].to_numpy()[mine.to_numpy()]] *= row["median"] / row["peers"]


def _transfers(table: Table, matched: Matched, found: Arrivals) -> pd.DataFrame:
    """One row per instance whose transfer is known: group, kind, bytes, members, hosts, rate (bytes a second)."""
    rows = table.rows
    sizes = np.fmax(rows.sent_bytes, rows.received_bytes)
    instance = np.flatnonzero(found.complete & found.waits & (found.transfer_ns > 0))
    last = found.last[instance]
    frame = pd.DataFrame(
        {
            "instance": instance,
            "group": rows.group[last],
            "kind": rows.kind[last],
            "bytes": sizes[last],
            "members": matched.size[instance],
            "hosts": _hosts(table)[rows.group[last]],
            "transfer_ns": found.transfer_ns[instance],
        }
    )
    frame = frame[(frame["bytes"] > 0).to_numpy(dtype=bool)]
    return frame.assign(rate=frame["bytes"] / frame["transfer_ns"] * 1e9)


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
    frame = pd.DataFrame({"group": rows.group[at], "member": rows.member[at], "bytes": got}).dropna()
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
