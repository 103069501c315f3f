"""Until when a file that ends early is whole: how far back the events that it lost may lie.

A writer that keeps to the order of time loses the end of the recording. kineto does not: host ops stand first, then what
its buffers held of calls and device work, one thread or stream after another. The end of such a file may be of any step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from traces.reader.clean.quarantine import FRAME_OF
from traces.reader.clean.tables import Tables
from traces.reader.columns.columns import Columns
from traces.reader.names.vocabulary import Kind

# Python frames stand behind the ops, in an order of their own, and only say where time is spent.
_TIMED = tuple(kind for kind in FRAME_OF if kind is not Kind.PYTHON)
# kineto's last event: where it is there, all others are.
_LAST_EVENT = "Record Window End"


def whole_until_ns(columns: Columns, tables: Tables) -> int | None:
    """When the first event may begin that a cut file lost, on the file's clock; None where no event was lost.

    What is lost may lie as far before what was read last as anything that was read lies before what stands in front of it.

    Args:
        columns: All events that were read.
        tables: The same by kind, without what was set aside.
    """
    kinds = [kind for kind in _TIMED if tables[kind]]
    if _LAST_EVENT in columns.names or not kinds:
        return None
    order = np.argsort(np.concatenate([tables.events(kind) for kind in kinds]), kind="stable")
    # All of them were set aside: nothing says how far back a lost one may lie.
    if not len(order):
        return None
    start = np.concatenate([tables[kind]["start"] for kind in kinds])[order]
    end = start + np.concatenate([tables[kind]["dur"] for kind in kinds])[order]
    # In the order of starts, or of ends: a writer may keep to either.
    return max(map(_reached, (start, end)), default=None)


def _reached(times: npt.NDArray[np.int64]) -> int:
    latest = np.maximum.accumulate(times)
    return int(latest[-1] - (latest - times).max())
