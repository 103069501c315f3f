"""One column as it grows: a value and how often it is there while all are equal, else one array.

Most columns of a file say the same of every event, or nothing. Small pieces of the others, freed once they are joined, leave holes
that no larger array fits into: they took more memory than the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# An array that is too short grows by this part of it: its pages are moved, not copied.
_SPARE = 8
# Of so few, a copy is compared in a sixth of the time that numpy takes.
_SHORT_BYTES = 1 << 15


class Growing:
    """A column to which runs of values are added.

    Args:
        dtype: Of all its values.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._held: npt.NDArray[Any] = np.empty(0, dtype=dtype)
        self._rows = 0
        # Whether what is held is the first of all values, which are equal; else whether nobody else has the array.
        self._same = self._own = False

    def add(self, values: npt.NDArray[Any]) -> None:
        """Takes over the next run."""
        begin, end = self._rows, self._rows + len(values)
        if not begin:
            self._held, self._same = values, _are_equal(values[:1], values)
            if self._same:
                self._held = values[:1].copy()
        elif not (self._same and _are_equal(self._held, values)):
            self._make_room(end)
            np.copyto(self._held[begin:end], values, casting="safe")
        self._rows = end

    def whole(self) -> npt.NDArray[Any]:
        """All values; where they are equal, read-only and in the memory of one."""
        if self._same:
            return np.broadcast_to(self._held, self._rows)
        if self._own:
            self._held.resize(self._rows, refcheck=False)
            self._own = False
        return self._held

    def _make_room(self, rows: int) -> None:
        if not self._own:
            self._held = np.repeat(self._held, self._rows) if self._same else self._held.copy()
            self._own, self._same = True, False
        if rows > len(self._held):
            self._held.resize(rows + rows // _SPARE, refcheck=False)

    @property
    def held_bytes(self) -> int:
        """Memory that the values take."""
        return self._held.nbytes

    def __getstate__(self) -> dict[str, Any]:
        # What comes out of another process lies in memory that is not the array's own.
        return {"_held": self._held[: self._rows], "_rows": self._rows, "_same": self._same, "_own": False}


def thrifty(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same values; where all are equal, read-only and in the memory of one."""
    return np.broadcast_to(values[:1].copy(), len(values)) if _are_equal(values[:1], values) else values


def of_rows(values: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Values of some rows; in the memory of one where they are one value."""
    return values[: len(rows)] if values.strides == (0,) else values[rows]


def _are_equal(one: npt.NDArray[Any], values: npt.NDArray[Any]) -> bool:
    """Whether there are values, and each is that one."""
    # As bytes: what is no number equals itself. Most columns differ at their ends already.
    if not len(values) or values[-1:].tobytes() != one.tobytes():
        return False
    if values.nbytes <= _SHORT_BYTES:
        return values.tobytes() == one.tobytes() * len(values)
    unsigned = f"u{values.itemsize}"
    return bool((values.view(unsigned) == one.view(unsigned)).all())
