"""Device time that only moves or re-lays data: copies within the device and kernels of contiguous, clone, copy_, cat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.labels import texts
from analyzer.facts.op_tree import BoolArray, Int64Array
from analyzer.facts.open_spans import NONE
from analyzer.facts.transfers import device_time
from analyzer.intervals import IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

MOVERS = ("aten::contiguous", "aten::clone", "aten::copy_", "aten::_to_copy", "aten::cat")


class LayoutWork(msgspec.Struct, frozen=True):
    """Work on the device that stands for the trace, inside the used steps.

    Args:
        time: When it runs and no other kernel does; overlapping pieces count once.
        by_op: Summed device nanoseconds by the outermost op that asked for it, most first: (name, pieces, nanoseconds).
        thread: Thread of each piece's launch, where known.
        at_ns: Start of each piece's launch.
        dur_ns: Its device time.
    """

    time: IntervalSet
    by_op: tuple[tuple[str, int, int], ...]
    thread: Int64Array
    at_ns: Int64Array
    dur_ns: Int64Array


def layout_work(facts: Facts) -> LayoutWork:
    """Measures it. Number-format casts are left out (family PR), and so is what optimizers copy."""
    tree = facts.op_tree
    movers = tree.named(lambda name: name in MOVERS)
    nearest = np.append(tree.nearest(movers), NONE)
    kernels = facts.kernels.frame
    op = kernels["op"].to_numpy(np.int64)
    moving: BoolArray = (nearest[op] != NONE) & ~kernels["cast"].to_numpy(dtype=bool)
    moving &= ~kernels["in_optimizer"].to_numpy(dtype=bool) & ~kernels["collective"].to_numpy(dtype=bool)
    inside = facts.transfers.of("DtoD")
    inside = inside[~facts.host.anywhere("optimizer").contains(inside["call_start_ns"].fillna(-1).to_numpy(np.int64))]
    asked = tree.enclosing(
        inside["call_thread"].fillna(-1).to_numpy(np.int64), inside["call_start_ns"].fillna(-1).to_numpy(np.int64)
    )
    names = np.append(texts(facts.trace.ops["name"]), "no op known")
    chosen = kernels[moving]
    pieces = pd.DataFrame(
        {
            "op": np.concatenate([names[nearest[op[moving]]], names[_or_itself(nearest, asked)]]),
            "dur_ns": np.concatenate([chosen["dur_ns"].to_numpy(), inside["dur_ns"].to_numpy()]),
            "at_ns": np.concatenate(
                [
                    chosen["launch_start_ns"].fillna(-1).to_numpy(np.int64),
                    inside["call_start_ns"].fillna(-1).to_numpy(np.int64),
                ]
            ),
            "thread": np.concatenate([_thread(facts, op[moving]), inside["call_thread"].fillna(-1).to_numpy(np.int64)]),
        }
    )
    totals = pieces.groupby("op", sort=True)["dur_ns"].agg(["count", "sum"]).sort_values("sum", ascending=False)
    rows = zip(totals.index, totals["count"].to_numpy(), totals["sum"].to_numpy(), strict=True)
    return LayoutWork(
        ((facts.kernels.spans(moving) | device_time(inside)) & facts.window()) - facts.kernels.spans(~moving),
        tuple((str(name), int(number), int(total)) for name, number, total in rows),
        pieces["thread"].to_numpy(np.int64),
        pieces["at_ns"].to_numpy(np.int64),
        pieces["dur_ns"].to_numpy(np.int64),
    )


def _or_itself(nearest: Int64Array, rows: Int64Array) -> Int64Array:
    """The mover around each op, else the op itself; -1 where neither is known."""
    around = nearest[rows]
    return np.where(around == NONE, rows, around)


def _thread(facts: Facts, op: Int64Array) -> Int64Array:
    """Thread of each op; -1 where no op is known."""
    return np.append(facts.trace.ops["thread"].to_numpy(np.int64), NONE)[op]
