"""Threads in the order of their numbers, in which a process starts them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import Int64Array


def by_number(threads: pd.DataFrame) -> Int64Array:
    """The place of each thread among all by the number that the system gave it, shape (threads,).

    Threads whose numbers are none stand behind those, in the order in which the trace names them.

    Args:
        threads: Threads with their `tid`.
    """
    numbers = [int(text) if text.isdecimal() else None for text in threads["tid"].tolist()]
    order = sorted(range(len(numbers)), key=lambda row: (numbers[row] is None, numbers[row] or 0, row))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order), dtype=np.int64)
    return place
