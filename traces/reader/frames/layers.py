"""Calls of CANN stand on a process of their own, though the threads of the program make them: put back where they were made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def on_their_threads(
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
