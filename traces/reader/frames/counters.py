"""Samples of devices' counters, by the rows of processes that show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.frames.arrays import Table, text
from traces.reader.names.vocabulary import counted_device


def devices_of_rows(threads: Iterable[tuple[Any, Any]]) -> list[int | None]:
    """The device whose counters each row of the file shows; None for any other row.

    Args:
        threads: Process and thread of each row, as recorded.
    """
    return [counted_device(text(pid)) for pid, _ in threads]


def sampled(table: Table, devices: list[int | None]) -> npt.NDArray[np.bool_]:
    """Which counters are samples of a device; those of other programs name their series, and have no value here."""
    known = np.array([device is not None for device in devices], dtype=bool)
    keep: npt.NDArray[np.bool_] = known[table["thread"]] & np.isfinite(table["value"])
    return keep


def samples(table: Table, thread: npt.NDArray[np.int64], devices: list[int | None]) -> dict[str, Any]:
    """Device and value of each sample.

    Args:
        table: The samples.
        thread: Their rows.
        devices: As `devices_of_rows` gives them.
    """
    numbers = np.array([device or 0 for device in devices], dtype=np.int64)
    return {
        "device": numbers[thread],
        "value": table.get("value", np.empty(0, dtype=np.float64)),
    }
