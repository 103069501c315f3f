"""Which call of a library or of Python itself a thread is in, where stacks were recorded: what the user's own line waits for."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.intervals import IntervalSet
from analyzer.spans.nesting import nest
from traces.patterns import Pattern

# `<built-in function print>`, `<built-in method as_tensor of type object at 0x7f2b3c1d2ac0>`.
_BUILT_IN = Pattern(r"<built-in (?:function|method) (\w+)")
# `torch/nn/functional.py(512): relu`; not `<module>` or `<listcomp>`, which nobody calls by a name.
_PYTHON = Pattern(r".+\(\d+\): (\w+)$")


class LibraryCall(msgspec.Struct, frozen=True):
    """The innermost frame in which most of a time is spent.

    Args:
        function: Its name, without file or address.
        ns: How much of the time it takes itself.
        built_in: Whether it is written in C: no line of Python runs in it.
        caller: The function that calls it most; None where none was recorded.
    """

    function: str
    ns: int
    built_in: bool
    caller: str | None


def library_call(python: pd.DataFrame, thread: int, time: IntervalSet) -> LibraryCall | None:
    """The frame with most time of its own; None where no frame of a name is open then.

    Args:
        python: `trace.python`: calls of functions, with their names.
        thread: Row in `trace.threads`.
        time: Where to look.
    """
    frames = python[(python["thread"] == thread).to_numpy()]
    start, end = frames["start_ns"].to_numpy(), frames["end_ns"].to_numpy()
    overlap = time.overlap_with(start, end)
    rows = np.flatnonzero(overlap > 0)
    if not len(rows):
        return None
    names = frames["name"].to_numpy(dtype=object)[rows]
    start, end, overlap = start[rows], end[rows], overlap[rows]
    parent = nest(np.full(len(rows), thread), start, end).parent
    nested = parent != np.arange(len(rows))
    # Of a call only what lies inside its caller: rounded to nanoseconds, one may begin before the one ahead of it has ended.
    inside = time.overlap_with(start, np.minimum(end, end[parent]))
    own = overlap - np.bincount(parent[nested], weights=inside[nested], minlength=len(rows)).astype(np.int64)
    known = {str(name): _function(str(name)) for name in np.unique(names)}
    called = np.array([known[str(name)] or "" for name in names], dtype=object)
    totals = pd.Series(own).groupby(called, sort=True).sum().drop("", errors="ignore")
    if not (totals > 0).any():
        return None
    function = str(totals.idxmax())
    mine = np.flatnonzero(called == function)
    callers = np.where(nested[mine], called[parent[mine]], "")
    others = (callers != "") & (callers != function)
    above = pd.Series(own[mine][others]).groupby(callers[others], sort=True).sum()
    return LibraryCall(
        function=function,
        # Frames that cross one another count what they share twice.
        ns=min(int(totals[function]), time.total_ns),
        built_in=any(_BUILT_IN.match(str(name)) for name in np.unique(names[mine])),
        caller=str(above.idxmax()) if len(above) else None,
    )


def _function(name: str) -> str | None:
    """The name of what a frame runs; None of modules and others that no one calls by a name."""
    match = _BUILT_IN.match(name) or _PYTHON.match(name)
    return None if match is None else match.group(1)
