"""Events of the allocator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.frames.arrays import Table, nullable


def memory_rows(table: Table, names: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which instant events are the allocator's; others (`Iteration Start`, `Record Window End`) share the phase.

    Args:
        table: Instant events.
        names: Every name of the file, by its code.
    """
    return np.isin(table["name"], np.flatnonzero(names == "[memory]"))


def memory_columns(table: Table) -> dict[str, Any]:
    """Sizes and devices."""
    if "device_id" in table:
        # The host's memory has none; -1 stands for it.
        table["device_id_known"] = table["device_id_known"].astype(bool) & (table["device_id"] >= 0)
    return {
        "delta_bytes": nullable(table, "delta"),
        "allocated_bytes": nullable(table, "allocated"),
        "reserved_bytes": nullable(table, "reserved"),
        "device_type": nullable(table, "device_type"),
        "device_id": nullable(table, "device_id"),
    }
