"""What the training thread does that nothing is around, in order: between two of these it is in code that nothing recorded."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.spans.arrays import Int64Array, RowArray, narrow
from analyzer.spans.labels import in_one_vocabulary, is_any
from traces.ordering import outer_first
from traces.trace import Trace

# Ranges that torch itself opens: their names say more than those of the ops inside.
TORCHS_RANGES = ("optimizer_step", "zero_grad", "loader")


class Outermost(msgspec.Struct, frozen=True, eq=False):
    """Ops, calls and torch's own ranges of one thread that nothing is around.

    Args:
        code: The place of each one's name in `names`, shape (spans,).
        start_ns: Their starts, sorted, shape (spans,).
        end_ns: Their ends, sorted likewise.
        names: The distinct names.
    """

    code: RowArray
    start_ns: Int64Array
    end_ns: Int64Array
    names: list[str]

    def __len__(self) -> int:
        return len(self.code)


def outermost(trace: Trace, thread: int | None) -> Outermost:
    """What a thread does that nothing is around.

    Args:
        trace: The trace.
        thread: Row in `trace.threads`.
    """
    # Of two with the same extent the range is the outer one, and comes first. Calls inside an op are not outermost; a replayed
    # graph, or a synchronisation, stands outside any.
    frames = (trace.annotations, trace.ops, trace.runtime)
    codes, names = in_one_vocabulary([frame["name"] for frame in frames])
    mine = [frame["thread"].to_numpy() == thread for frame in frames]
    mine[0] &= is_any(trace.annotations["kind"], *TORCHS_RANGES)
    code = np.concatenate([part[mask] for part, mask in zip(codes, mine, strict=True)])
    start, end = (
        np.concatenate([frame[name].to_numpy()[mask] for frame, mask in zip(frames, mine, strict=True)])
        for name in ("start_ns", "end_ns")
    )
    order = outer_first(start, end)
    start, end = start[order], end[order]
    latest = np.maximum.accumulate(end)
    alone = start >= np.append(np.iinfo(np.int64).min, latest[:-1])[: len(start)]
    return Outermost(narrow(code[order][alone]), start[alone], end[alone], names)
