"""Iterators of a loader with workers that are made inside the recording: what starts the worker processes.

The constructor of the iterator lies outside `__next__` and has no range of its own, but it leaves a mark: it draws the seed of the
workers (`random_` and `item` on the training thread, torch 1.5 and newer) before it starts them. Where nothing else runs between
two calls of the loader, the first of them found the epoch at its end and shut the old workers down.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from analyzer.spans.nesting import nest
from traces.trace import Trace

MULTI_PROCESS = "MultiProcessingDataLoaderIter"
_SEED = "aten::random_"
# What the samplers of torch call while the iterator fetches its first indices, beside the seed itself.
_ORDER = ("aten::randperm", "aten::randint", "aten::multinomial", "aten::rand")
_MAKING = frozenset(
    {_SEED, *_ORDER, "aten::empty", "aten::item", "aten::resolve_conj", "aten::resolve_neg", "aten::detach"}
)


class Restarts(msgspec.Struct, frozen=True):
    """Iterators with workers made in the trace, in order; one element each.

    Args:
        ended: When the call began and ended that found the old iterator exhausted; empty (start = end) where it was left early.
            Shape (n, 2), ns.
        making: From there, or from the seed, to the first call. Shape (n, 2), ns.
        first: The first call, which waits until a worker has made a batch. Shape (n, 2), ns.
        calls: How many calls of the loader come before the first one, those that ended an epoch not counted. Shape (n,).
    """

    ended: Int64Array
    making: Int64Array
    first: Int64Array
    calls: Int64Array

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def making_spans(self) -> IntervalSet:
        """While an iterator is made."""
        return IntervalSet(self.making[:, 0], self.making[:, 1])

    @property
    def spans(self) -> IntervalSet:
        """From the end of an epoch to the first batch of the next."""
        return IntervalSet(self.ended[:, 0], self.first[:, 1])

    @property
    def epoch_end_ns(self) -> Int64Array:
        """When the epoch that each begins is over: where the next iterator is asked for; never, of the last. Shape (n,)."""
        return np.append(self.ended[1:, 0], np.iinfo(np.int64).max)

    def within(self, window: IntervalSet) -> Restarts:
        """Those whose first call begins inside the window."""
        keep = window.contains(self.first[:, 0])
        return Restarts(self.ended[keep], self.making[keep], self.first[keep], self.calls[keep])

    def has(self, start_ns: Int64Array) -> npt.NDArray[np.bool_]:
        """Which calls belong to a restart, by their starts, shape (n,)."""
        return np.isin(start_ns, np.concatenate([self.ended[:, 0], self.first[:, 0]]))


_NO_SPAN: Int64Array = np.empty((0, 2), dtype=np.int64)
_NONE = Restarts(_NO_SPAN, _NO_SPAN, _NO_SPAN, np.empty(0, dtype=np.int64))


def restarts(trace: Trace, thread: int | None) -> Restarts:
    """Finds them on one thread; none where the thread's ops were not recorded.

    Args:
        trace: The trace.
        thread: The training thread.
    """
    ops = _between_calls(trace, thread)
    if not len(ops):
        return _NONE
    calls = _calls(trace, thread)
    if not len(calls):
        return _NONE
    start, end = calls["start_ns"].to_numpy(np.int64), calls["end_ns"].to_numpy(np.int64)
    at, name = ops["start_ns"].to_numpy(np.int64), ops["name"].astype("str").to_numpy(dtype=np.str_)
    following = np.searchsorted(start, at, side="left")
    seeds, alone = _seeds(following, name)
    keep = following[seeds] < len(start)
    seeds, alone = seeds[keep], alone[keep]
    index = following[seeds]
    keep = calls["name"].str.contains(MULTI_PROCESS, regex=False).to_numpy()[index]
    seeds, alone, index = seeds[keep], alone[keep], index[keep]
    # A call that is followed by nothing but the next iterator gave no batch that was trained with.
    ends_epoch = alone & (index > 0)
    before = np.maximum(index - 1, 0)
    began = np.where(ends_epoch, end[before], at[seeds])
    ended = np.column_stack([np.where(ends_epoch, start[before], began), began])
    number = index - np.cumsum(ends_epoch)
    return Restarts(ended, np.column_stack([began, start[index]]), np.column_stack([start[index], end[index]]), number)


def _seeds(following: Int64Array, name: npt.NDArray[np.str_]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """The ops that draw a seed for workers, at most one before each call, and whether only the iterator's ops lie in that gap.

    Args:
        following: Position of the call that follows each op, sorted, shape (ops,).
        name: Names of the ops.
    """
    foreign = ~np.isin(name, list(_MAKING))
    rows = np.arange(len(name))
    last_foreign = np.full(int(following.max()) + 1, -1)
    np.maximum.at(last_foreign, following[foreign], rows[foreign])
    drawn = name == "aten::item"
    seed = (name == _SEED) & (rows > last_foreign[following])
    # A sampler draws a seed as well, and then the order: workers that stay have nothing but that.
    others = np.flatnonzero(~drawn)
    # Behind the last of them stands nothing: no name, and no call that could follow.
    next_row = np.append(others, len(name))[np.searchsorted(others, rows, side="right")]
    orders = np.isin(np.append(name, "")[next_row], _ORDER) & (np.append(following, -1)[next_row] == following)
    found = np.flatnonzero(seed & ~orders)
    _, first = np.unique(following[found], return_index=True)
    found = found[first]
    return found, last_foreign[following[found]] < 0


def _calls(trace: Trace, thread: int | None) -> pd.DataFrame:
    ranges = trace.annotations
    calls = chosen(ranges, is_any(ranges["kind"], "loader") & (ranges["thread"].to_numpy() == thread))
    if not len(calls):
        return calls
    calls = calls.sort_values("start_ns")
    return calls[nest(calls["thread"], calls["start_ns"], calls["end_ns"]).is_root]


def _between_calls(trace: Trace, thread: int | None) -> pd.DataFrame:
    """Outermost ops of the thread outside the loader's calls, in order; none where no seed is drawn at all."""
    ops = trace.ops
    if _SEED not in ops["name"].cat.categories:
        return ops.iloc[:0]
    ops = ops[ops["thread"] == thread].sort_values("start_ns", kind="stable")
    calls = _calls(trace, thread)
    inside = IntervalSet.of_rows(calls)
    ops = ops[~inside.contains(ops["start_ns"].to_numpy())]
    return ops[nest(ops["thread"], ops["start_ns"], ops["end_ns"]).is_root] if len(ops) else ops


def epoch_steps(recording: RecordingFacts, restarts: Restarts) -> int | None:
    """Steps of one pass over the data: from what `advisor collect` recorded, else where restarts come at equal distances."""
    batch, length = recording.collected.batch_size, recording.collected.dataset_length
    if batch and length:
        return max(1, length // batch)
    gaps = np.unique(np.diff(restarts.calls))
    return int(gaps[0]) if len(gaps) == 1 and gaps[0] > 0 else None


def seed_drawn_between(trace: Trace, main_thread: int | None) -> bool:
    """Whether the training thread draws a seed anywhere outside the loader's calls: without one, no iterator was made there."""
    return bool((_between_calls(trace, main_thread)["name"] == _SEED).any())


def restart_seen(trace: Trace, steps: Steps) -> bool:
    """Whether a recorded stack shows the loader's iterator being made inside the used steps."""
    python = trace.python
    if not len(python):
        return False
    # The iterator's constructor starts the workers.
    names = python["name"].cat.categories
    making = names[names.str.contains(r"dataloader\.py\(\d+\): (?:_get_iterator|_reset)", regex=True)]
    rows = python[python["name"].isin(making)]
    return bool(steps.host_window.contains(rows["start_ns"].to_numpy()).any())
