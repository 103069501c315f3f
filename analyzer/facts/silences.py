"""Where host time without any op lies: which op ended before it, which one began after it.

Without stacks that is all a trace knows of the program's own code, and often enough to find the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.intervals import IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Ranges that torch itself opens: their names say more than those of the ops inside.
_NAMED = ("optimizer_step", "zero_grad", "loader")


class Silence(msgspec.Struct, frozen=True):
    """Stretches without an op that lie between the same two ops.

    Args:
        before: Name of the op, or of torch's own range, that ended last before them.
        after: Name of the one that begins next.
        stretches: How many there are.
        total_ns: Their time.
    """

    before: str
    after: str
    stretches: int
    total_ns: int


def silences(facts: Facts, time: IntervalSet) -> tuple[Silence, ...]:
    """What stretches of the training thread's time lie between: ops, ranges of torch and calls; the longest together first.

    Args:
        facts: The measurements.
        time: The stretches; those before the thread's first op or after its last one are left out.
    """
    ops, ranges, calls = facts.trace.ops, facts.trace.annotations, facts.trace.runtime
    columns = ["name", "start_ns", "end_ns"]
    mine = [
        frame.loc[(frame["thread"] == facts.main_thread).to_numpy(), columns].astype({"name": "str"})
        # Of two with the same extent the range is the outer one.
        # Calls inside an op are not outermost; a replayed graph, or a synchronisation, stands outside any.
        for frame in (ranges[ranges["kind"].isin(_NAMED)], ops, calls)
    ]
    spans = pd.concat(mine).sort_values(["start_ns", "end_ns"], ascending=[True, False], kind="stable")
    if not len(spans) or not time:
        return ()
    ends = np.maximum.accumulate(spans["end_ns"].to_numpy())
    outermost = spans["start_ns"].to_numpy() >= np.concatenate([[np.iinfo(np.int64).min], ends[:-1]])
    name, start, end = (spans[column].to_numpy()[outermost] for column in columns)
    before = np.searchsorted(end, time.start_ns, side="right") - 1
    after = np.searchsorted(start, time.end_ns, side="left")
    inside = (before >= 0) & (after < len(start))
    found = pd.DataFrame(
        {
            "before": name[before[inside]],
            "after": name[after[inside]],
            "total": (time.end_ns - time.start_ns)[inside],
        }
    )
    grouped = found.groupby(["before", "after"], sort=True)["total"].agg(["size", "sum"])
    grouped = grouped.sort_values("sum", ascending=False, kind="stable")
    return tuple(
        Silence(str(before), str(after), int(count), int(total))
        for (before, after), count, total in zip(grouped.index, grouped["size"], grouped["sum"], strict=True)
    )
