"""Where host time without any op lies: which op ended before it, which one began after it.

Without stacks that is all a trace knows of the program's own code, and often enough to find the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from analyzer.facts.grouping import Int64Array, sums_by
from analyzer.facts.labels import in_one_vocabulary, is_any
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
    code, start, end, names = _outermost(facts)
    if not len(start) or not time:
        return ()
    before = np.searchsorted(end, time.start_ns, side="right") - 1
    after = np.searchsorted(start, time.end_ns, side="left")
    inside = (before >= 0) & (after < len(start))
    pairs = code[before[inside]] * len(names) + code[after[inside]]
    distinct, place = np.unique(pairs, return_inverse=True)
    counts, totals = sums_by(place, (time.end_ns - time.start_ns)[inside], len(distinct))
    found = [
        Silence(names[pair // len(names)], names[pair % len(names)], stretches, total)
        for pair, stretches, total in zip(distinct.tolist(), counts.tolist(), totals.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda item: (-item.total_ns, item.before, item.after)))


def _outermost(facts: Facts) -> tuple[Int64Array, Int64Array, Int64Array, list[str]]:
    """Ops, calls and torch's own ranges of the training thread that nothing is around, in order.

    Returns:
        The place of each one's name in the list, its start and end, shape (spans,); and the list.
    """
    # Of two with the same extent the range is the outer one, and comes first. Calls inside an op are not outermost; a replayed
    # graph, or a synchronisation, stands outside any.
    frames = (facts.trace.annotations, facts.trace.ops, facts.trace.runtime)
    codes, names = in_one_vocabulary([frame["name"] for frame in frames])
    mine = [frame["thread"].to_numpy() == facts.main_thread for frame in frames]
    mine[0] &= is_any(facts.trace.annotations["kind"], *_NAMED)
    code = np.concatenate([part[mask] for part, mask in zip(codes, mine, strict=True)])
    start, end = (
        np.concatenate([frame[name].to_numpy()[mask] for frame, mask in zip(frames, mine, strict=True)])
        for name in ("start_ns", "end_ns")
    )
    order = np.lexsort((-end, start))
    code, start, end = code[order], start[order], end[order]
    latest = np.maximum.accumulate(end)
    alone = start >= np.append(np.iinfo(np.int64).min, latest[:-1])[: len(start)]
    return code[alone], start[alone], end[alone], names
