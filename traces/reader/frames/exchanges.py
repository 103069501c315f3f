"""Kernels whose names leave open whether they communicate: the op that launched them says, and how many processes the job has.

A word such as `all_reduce` may stand for the lanes of a warp, `all_gather_matmul` for an exchange and a product in one. What
torch's own ops launch (`aten::`) is not likely to, and a job of one process has nobody to talk to.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.ordering import found_in, outer_first
from traces.reader.names.collectives import collective_word, is_collective_op, may_exchange

# Calls that one op makes before the one that launches: more of them in a row inside one op were not met.
_DEEPEST = 64
_UNKNOWN, _LOCAL, _EXCHANGE = 0, 1, 2


def settled(
    kernels: pd.DataFrame, runtime: pd.DataFrame, ops: pd.DataFrame, collectives: pd.DataFrame, world_size: int | None
) -> pd.DataFrame:
    """The kernels, of which `collective` and `doubtful` also rest on what launched them.

    Args:
        kernels: Kernels, with what their names and arguments say in `collective`.
        runtime: Calls.
        ops: Operators.
        collectives: Ranges of collectives on the host.
        world_size: Processes of the job; None where the trace does not say.
    """
    words = np.array([collective_word(str(name)) for name in kernels["name"].cat.categories], dtype=object)
    open_names = (words == "worded") | (words == "either")
    asked = any(is_collective_op(str(name)) for name in ops["name"].cat.categories)
    if asked:
        open_names |= np.array([may_exchange(str(name)) for name in kernels["name"].cat.categories], dtype=bool)
    rows = np.flatnonzero(open_names[kernels["name"].cat.codes]) if len(words) else np.empty(0, dtype=np.int64)
    rows = rows[kernels["message"].isna().to_numpy()[rows]]
    if not len(rows):
        return kernels
    word = words[kernels["name"].cat.codes.to_numpy()[rows]]
    by = np.full(len(rows), _LOCAL) if world_size == 1 else _launched_by(kernels.iloc[rows], runtime, ops, collectives)
    collective, doubtful = (kernels[name].to_numpy().copy() for name in ("collective", "doubtful"))
    collective[rows] = (by == _EXCHANGE) | ((word == "worded") & (by == _UNKNOWN))
    # A word of the one, launched by the other's op: nothing tells, but that nobody is there to talk to.
    doubtful[rows] = np.where(word == "either", by == _UNKNOWN, (word == "worded") & (by == _LOCAL) & (world_size != 1))
    return kernels.assign(collective=collective, doubtful=doubtful)


def _launched_by(
    kernels: pd.DataFrame, runtime: pd.DataFrame, ops: pd.DataFrame, collectives: pd.DataFrame
) -> npt.NDArray[np.int64]:
    """What the innermost op around each launch says, shape (kernels,)."""
    found = np.full(len(kernels), _UNKNOWN)
    ids = runtime["correlation"].to_numpy(dtype=np.int64, na_value=0)
    order = np.argsort(ids, kind="stable")
    wanted = kernels["correlation"].to_numpy(dtype=np.int64, na_value=0)
    place, there = found_in(ids[order], wanted)
    known = np.flatnonzero(there & (wanted != 0))
    call = order[place[known]]
    thread, at = runtime["thread"].to_numpy()[call], runtime["start_ns"].to_numpy()[call]
    spans = [(frame, _says(frame["name"])) for frame in (ops, collectives)]
    threads, starts, ends = (
        np.concatenate([frame[name].to_numpy() for frame, _ in spans]) for name in ("thread", "start_ns", "end_ns")
    )
    says = np.concatenate([one for _, one in spans])
    for one in np.intersect1d(thread, threads).tolist():
        mine = np.flatnonzero(threads == one)
        mine = mine[outer_first(starts[mine], ends[mine])]
        here = np.flatnonzero(thread == one)
        start, end, moment = starts[mine], ends[mine], at[here]
        last = np.searchsorted(start, moment, side="right") - 1
        for _ in range(_DEEPEST):
            outside = (last >= 0) & (end[last] < moment)
            if not outside.any():
                break
            last[outside] -= 1
        inside = (last >= 0) & (end[last] >= moment)
        found[known[here[inside]]] = says[mine[last[inside]]]
    return found


def _says(names: pd.Series) -> npt.NDArray[np.int64]:
    """What each op says of the kernels that it launches itself, shape (ops,)."""
    categories = [str(name) for name in names.cat.categories]
    codes = [
        _EXCHANGE if is_collective_op(name) else _LOCAL if name.startswith("aten::") else _UNKNOWN
        for name in categories
    ]
    return np.array([*codes, _UNKNOWN], dtype=np.int64)[names.cat.codes]
