"""The innermost function below which most of some time lies, where stacks were recorded: there the work begins to branch."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.intervals import IntervalSet
from traces.patterns import Pattern

# `lightning/pytorch/loops/fetchers.py(61): __next__`; of `<module>` and `<listcomp>` nobody knows whose they are.
_FRAME = Pattern(r"(.+)\((\d+)\): (\w+)$")


class FrameOfMost(msgspec.Struct, frozen=True):
    """A function, with what it calls.

    Args:
        function: Its name.
        file: Its file, as the trace has it.
        ns: How much of the time lies in it or in what it calls.
    """

    function: str
    file: str
    ns: int


def frame_of_most(
    python: pd.DataFrame, thread: int, time: IntervalSet, elsewhere: IntervalSet, ratio: float
) -> FrameOfMost | None:
    """Finds it; None where the functions that hold as much hold the loop itself as well, or where no stack tells.

    Args:
        python: `trace.python`: calls of functions, with their names.
        thread: Row in `trace.threads`.
        time: Where to look.
        elsewhere: Another part of the loop: whoever holds as much of that too is the loop.
        ratio: How much of the time is most of it.
    """
    frames = python[(python["thread"] == thread).to_numpy()]
    start, end = frames["start_ns"].to_numpy(), frames["end_ns"].to_numpy()
    overlap = time.overlap_with(start, end)
    code, names = pd.factorize(frames["name"].to_numpy(dtype=object))
    # Of one that calls itself each moment counts once; the sum is no less than that.
    enough = np.bincount(code, weights=overlap, minlength=len(names)) >= max(ratio * time.total_ns, 1)
    found: FrameOfMost | None = None
    for number in np.flatnonzero(enough).tolist():
        match = _FRAME.match(str(names[number]))
        if match is None:
            continue
        spans = IntervalSet(start[code == number], end[code == number])
        inside = (spans & time).total_ns
        if inside < ratio * time.total_ns or (spans & elsewhere).total_ns >= ratio * elsewhere.total_ns > 0:
            continue
        if found is None or inside <= found.ns:
            found = FrameOfMost(match.group(3), match.group(1), inside)
    return found
