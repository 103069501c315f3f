"""Events without an end (`dur` missing or -1): ended where their surroundings end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Table = dict[str, npt.NDArray[Any]]
_UNFINISHED_NS = -1000
# How far back an enclosing event is looked for; beyond, the end of the window counts.
_LOOK_BACK = 4096


def end_unfinished(tables: list[tuple[bool, Table]]) -> None:
    """Gives every unfinished event an end, in place.

    On a device it is the next start on the same stream: work on a stream runs in order. On the host it is the end of
    the innermost event that surrounds it on its thread. Where there is neither, it is the end of the window.

    Args:
        tables: For each kind of event, whether it is device work, and its columns.
    """
    masks = [unfinished(table) for _, table in tables]
    if not any(mask.any() for mask in masks):
        return
    for mask, (_, table) in zip(masks, tables, strict=True):
        table["dur"] = np.where(mask, 0, table["dur"])
        table["dur_known"] = np.ones(len(mask), dtype=bool)
    window_end = max(int((t["start"] + t["dur"]).max()) for _, t in tables if len(t["start"]))
    host = _Host([t for device, t in tables if not device])
    for mask, (device, table) in zip(masks, tables, strict=True):
        if not mask.any():
            continue
        ends = _next_starts(table, window_end) if device else host.ends(table, mask, window_end)
        table["dur"] = np.where(mask, ends - table["start"], table["dur"])


def unfinished(table: Table) -> npt.NDArray[np.bool_]:
    """Which events have no end. Shape (rows,)."""
    return np.asarray(~table["dur_known"].astype(bool) | (table["dur"] == _UNFINISHED_NS))


def _next_starts(table: Table, window_end: int) -> npt.NDArray[np.int64]:
    """For each event the next start on its stream, or the end of the window."""
    order = np.lexsort((table["start"], table["thread"]))
    start, thread = table["start"][order], table["thread"][order]
    following = np.full(len(order), window_end, dtype=np.int64)
    following[:-1] = np.where(thread[1:] == thread[:-1], start[1:], window_end)
    ends = np.empty_like(following)
    ends[order] = following
    return ends


class _Host:
    """All host events by thread and start, to look up what surrounds one."""

    def __init__(self, tables: list[Table]) -> None:
        self._start = np.concatenate([t["start"] for t in tables]) if tables else np.empty(0, dtype=np.int64)
        self._end = np.concatenate([t["start"] + t["dur"] for t in tables]) if tables else self._start
        self._thread = np.concatenate([t["thread"] for t in tables]) if tables else self._start
        # Of two that begin together, the shorter stands further in.
        order = np.lexsort((-self._end, self._start, self._thread))
        self._start, self._end, self._thread = self._start[order], self._end[order], self._thread[order]

    def ends(self, table: Table, mask: npt.NDArray[np.bool_], window_end: int) -> npt.NDArray[np.int64]:
        """Ends for the masked events; other rows are meaningless."""
        ends = np.full(len(mask), window_end, dtype=np.int64)
        for row in np.flatnonzero(mask).tolist():
            start, thread = table["start"][row], table["thread"][row]
            low = int(np.searchsorted(self._thread, thread))
            high = int(np.searchsorted(self._thread, thread, side="right"))
            place = low + int(np.searchsorted(self._start[low:high], start))
            window = slice(max(low, place - _LOOK_BACK), place)
            around = np.flatnonzero(self._end[window] > start)
            if len(around):
                ends[row] = self._end[window][around[-1]]
        return ends
