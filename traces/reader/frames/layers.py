"""Calls of CANN stand on a process of their own, though the threads of the program make them: put back where they were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def join_layers(
    calls: dict[str, npt.NDArray[Any]],
    ops: dict[str, npt.NDArray[Any]],
    names: npt.NDArray[Any],
    threads: Iterable[tuple[Any, Any]],
) -> None:
    """Puts calls that name CANN's layer (`Node@launch`) on the thread of the program that made them, in place.

    Args:
        calls: Columns of the calls of a runtime.
        ops: Columns of the ops.
        names: Names of events, by code.
        threads: Process and thread id by code.
    """
    if calls and ops:
        layered = np.array(["@" in str(name) for name in names], dtype=bool)[calls["name"]]
        calls["thread"] = _on_their_threads(calls["thread"], ops["thread"], list(threads), layered)


def _on_their_threads(
    calls: npt.NDArray[Any], ops: npt.NDArray[Any], threads: Sequence[tuple[Any, Any]], layered: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """The thread of each call, as a code: that of the ops with the same thread id, where exactly one process has such.

    Args:
        calls: Thread of each call.
        ops: Thread of each op.
        threads: Process and thread id by code.
        layered: Which calls name CANN's layer, shape (calls,).
    """
    if not layered.any():
        return calls
    codes: dict[Any, list[int]] = {}
    for code in np.unique(ops).tolist():
        codes.setdefault(threads[code][1], []).append(code)
    moved = np.arange(len(threads), dtype=calls.dtype)
    for code in np.unique(calls[layered]).tolist():
        same = codes.get(threads[code][1], [])
        if len(same) == 1:
            moved[code] = same[0]
    return np.where(layered, moved[calls], calls)
