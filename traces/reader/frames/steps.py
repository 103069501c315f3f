"""Steps by their marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.reader.names.vocabulary import step_number


def one_per_number(marks: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """One row per step, by start: of several marks with one number on several threads, the longest counts.

    Args:
        marks: Columns of the marks' frame.
        names: Their names.
    """
    numbers = np.array([step_number(name) for name in names], dtype=np.int64)
    order = np.lexsort((-marks["dur_ns"], numbers))
    _, longest = np.unique(numbers[order], return_index=True)
    rows = order[longest]
    rows = rows[np.argsort(marks["start_ns"][rows], kind="stable")]
    return {column: values[rows] for column, values in (marks | {"number": numbers}).items()}
