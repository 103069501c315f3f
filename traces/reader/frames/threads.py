"""Threads, their names and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.frames.arrays import Table, text, texts, trailing_number


def threads(
    pairs: Iterable[tuple[Any, Any]],
    process: npt.NDArray[np.int64],
    named: Table,
    names: npt.NDArray[np.object_],
    stated: Sequence[str],
) -> dict[str, Any]:
    """The columns of the frame of threads.

    Args:
        pairs: What stands for pid and tid of each.
        process: The process of each.
        named: The events that name one; empty where there is none.
        names: The names of events, by code.
        stated: The texts of events, by code.
    """
    called: dict[int, str] = {}
    if named:
        wanted = names[named["name"]] == "thread_name"
        for thread, code in zip(named["thread"][wanted].tolist(), named["text"][wanted].tolist(), strict=True):
            if code >= 0:
                called[thread] = stated[code]
    listed = list(pairs)
    return {
        "process": process,
        "pid": texts([text(pid) for pid, _ in listed]),
        "tid": texts([text(tid) for _, tid in listed]),
        "name": texts([called.get(code) for code in range(len(listed))]),
    }


def thread_numbers(pairs: Iterable[tuple[Any, Any]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number in each thread's pid and in its tid (`stream 7` -> 7); 0 where there is none."""
    listed = list(pairs)
    pids = np.array([trailing_number(pid) for pid, _ in listed], dtype=np.int64)
    tids = np.array([trailing_number(tid) for _, tid in listed], dtype=np.int64)
    return pids, tids
