"""Dependencies between nodes of CUDA graphs, one row to each end: flows of torch 2.15, drawn from one node's row to another's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from traces.reader.frames.arrays import Table
from traces.reader.frames.threads import thread_numbers


def edge_ends(threads: Iterable[tuple[Any, Any]], table: Table) -> dict[str, Any]:
    """Number, direction, device and stream of each end.

    Args:
        threads: Process and thread of each row of the file, as recorded: those of a device's work are its number and its stream.
        table: The flows.
    """
    rows = table["thread"].astype(np.int64)
    pids, tids = thread_numbers(threads)
    return {
        "edge": table.get("edge", np.empty(0, dtype=np.int64)),
        "arrives": table.get("arrives", np.empty(0, dtype=bool)),
        "device": pids[rows] if len(rows) else rows,
        "stream": tids[rows] if len(rows) else rows,
    }
