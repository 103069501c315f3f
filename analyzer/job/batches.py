"""What a kernel does that says nothing of itself: the messages and collectives that were issued as one batch before its launch.

`batch_isend_irecv` and `_coalescing_manager` describe every part on the host when it is issued, and launch the one kernel of all
when the batch ends, outside those ranges (pytorch issue 194693): pipelines and distributed optimizers do little else.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import LaunchCalls
from analyzer.ranks.names import PAIRWISE, SYMMETRIC, kind_of
from traces.messages import Message


class Batches:
    """Ranges on the host that launched nothing themselves.

    Args:
        frame: Ranges that state a collective: thread, start_ns, end_ns, said (Message).
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        known = [kind_of(message.name) in PAIRWISE | SYMMETRIC for message in frame["said"]]
        frame = frame[np.array(known, dtype=bool)]
        self._by_thread = {int(str(thread)): rows.sort_values("start_ns") for thread, rows in frame.groupby("thread")}

    def of(self, launch: LaunchCalls) -> dict[int, list[Message]]:
        """By place of a collective kernel, what was issued on its thread since the launch of the one before.

        Args:
            launch: Launches of all collective kernels.
        """
        found: dict[int, list[Message]] = {}
        for thread, ranges in self._by_thread.items():
            mine = np.flatnonzero(launch.known & (launch.thread == thread))
            mine = mine[np.argsort(launch.start_ns[mine], kind="stable")]
            at = launch.start_ns[mine]
            start, end, said = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy(), ranges["said"].tolist()
            # What was launched inside a range is that range's own, which begins before it.
            first = np.searchsorted(start, np.insert(at, 0, np.iinfo(np.int64).min)[:-1], side="right")
            last = np.searchsorted(start, at, side="left")
            for place, low, high in zip(mine.tolist(), first.tolist(), last.tolist(), strict=True):
                parts = [said[one] for one in range(low, high) if end[one] <= launch.start_ns[place]]
                if parts and (whole := _together(parts)):
                    found[place] = whole
        return found


def _together(parts: list[Message]) -> list[Message]:
    """Messages stay apart, collectives of one kind and group become one; nothing where they are of several."""
    kinds = {kind_of(one.name) for one in parts}
    if kinds <= PAIRWISE:
        return parts
    if len(kinds) > 1 or len({(one.group, one.ranks) for one in parts}) > 1:
        return []
    first = parts[0]
    if len(parts) == 1:
        return [first]
    return [
        msgspec.structs.replace(
            first,
            sent_bytes=_sum([one.sent_bytes for one in parts]),
            received_bytes=_sum([one.received_bytes for one in parts]),
            sent_splits=(),
            received_splits=(),
        )
    ]


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
