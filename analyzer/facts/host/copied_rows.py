"""Rows of copies: as many tensors in a row as receive a gradient are copied into new ones, as a deep copy of the model makes them.

`copy.deepcopy` clones and detaches each parameter; of other tensors, as those of `state_dict()`, it makes a storage, copies into
it, and sets a new tensor to it. In neither is anything computed between, nor in a list of clones.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.outermost import Outermost
from analyzer.facts.host.state_taken import MIN_TENSORS
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.pauses import long_pauses
from analyzer.spans.stretches import stretches
from traces.patterns import Pattern
from traces.trace import Trace

_CLONES, _COPIES, _SETS = "aten::clone", "aten::copy_", "aten::set_"
# What makes a tensor, or takes one, and computes nothing.
AROUND_COPIES = frozenset(
    {_CLONES, _COPIES, _SETS, "aten::detach", "aten::alias", "aten::empty", "aten::empty_like", "aten::new_empty"}
)
_DEEP = Pattern(r"(?:.*[/\\])?copy\.py\(\d+\): deepcopy$")


class CopiedRows(msgspec.Struct, frozen=True):
    """Rows of copies on the training thread, in the used steps.

    Args:
        time: Time of the rows; pauses between their ops are other work.
        rows: How many.
        copies: How many tensors are copied in all of them.
        deep: Whether it is `copy.deepcopy` that makes most of them: by its frames, where stacks were recorded, or by the storages.
    """

    time: IntervalSet = EMPTY
    rows: int = 0
    copies: int = 0
    deep: bool = False


def copied_rows(trace: Trace, least: int, steps: Steps, spans: Outermost, main: int | None) -> CopiedRows:
    """Finds the rows with at least as many copies as tensors receive a gradient.

    Args:
        trace: The trace.
        least: How many tensors receive a gradient, from `trained_tensors`.
        steps: The steps.
        spans: What the training thread does.
        main: Row in `trace.threads` of the training thread.
    """
    if main is None or least < MIN_TENSORS or not {_CLONES, _SETS} & set(spans.names):
        return CopiedRows()
    around, clones, copies, sets = (
        np.array([name in names for name in spans.names], dtype=bool)[spans.code]
        for names in (AROUND_COPIES, {_CLONES}, {_COPIES}, {_SETS})
    )
    clones &= ~_recorded(trace, spans, main)
    of_storage = copies & np.append(False, sets[:-1])
    made = np.concatenate([[0], np.cumsum(clones | of_storage)])
    first, end = stretches(around)
    mine = made[end] - made[first] >= least
    mine &= steps.host_window.contains(spans.start_ns[first])
    first, end = first[mine], end[mine]
    if not len(first):
        return CopiedRows()
    time = IntervalSet(spans.start_ns[first], spans.end_ns[end - 1]) & steps.window
    time -= long_pauses(spans.start_ns, spans.end_ns, first, end - first)
    number = int((made[end] - made[first]).sum())
    storages = np.concatenate([[0], np.cumsum(of_storage)])
    of_storages = int((storages[end] - storages[first]).sum())
    return CopiedRows(time, len(first), number, deep=2 * of_storages > number or _by_deepcopy(trace, main, time))


def _recorded(trace: Trace, spans: Outermost, main: int) -> BoolArray:
    """Which spans autograd records, as the clone of a tensor that is trained: the next number of the thread is higher behind it."""
    ops = trace.ops
    numbered = (ops["thread"].to_numpy() == main) & ops["sequence"].notna().to_numpy()
    order = np.argsort(ops["start_ns"].to_numpy()[numbered], kind="stable")
    start = ops["start_ns"].to_numpy()[numbered][order]
    number = ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)[numbered][order]
    found = np.zeros(len(spans), dtype=bool)
    if not len(start):
        return found
    own, following = np.searchsorted(start, spans.start_ns), np.searchsorted(start, spans.end_ns)
    told = following < len(start)
    found[told] = (start[own[told]] == spans.start_ns[told]) & (number[following[told]] > number[own[told]])
    return found


def _by_deepcopy(trace: Trace, main: int, time: IntervalSet) -> bool:
    rows = matching(trace.python["name"], _DEEP.match) & (trace.python["thread"] == main).to_numpy()
    return 2 * (IntervalSet.of_rows(trace.python, rows) & time).total_ns > time.total_ns
