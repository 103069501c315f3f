"""Which code makes the optimizers of a process."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

from .made_by import maker

_MOST = 8
# Arguments by which optimizers of torch's update many tensors at once.
_AT_ONCE = ("foreach", "fused")


class OptimizerCode:
    """Remembers who made the optimizers of a process."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def note(self, optimizer: Any, frame: FrameType | None) -> None:
        """An optimizer is being made.

        Args:
            optimizer: The one, which may be nothing but its class yet.
            frame: Of its constructor, or of one that this calls.
        """
        row = maker(optimizer, frame)
        if row is not None:
            row |= _class(type(optimizer))
        if row is not None and row not in self._rows and len(self._rows) < _MOST:
            self._rows.append(row)

    def told(self) -> list[dict[str, Any]]:
        """A row for each place, as `made_by.maker` gives it, with the package of the class and what of `_AT_ONCE` it takes."""
        return self._rows


def constructor() -> FrameType | None:
    """The frame that makes an optimizer, for a method that its constructor calls; None where another calls it."""
    frame = sys._getframe(2)
    return frame if frame.f_code.co_name == "__init__" else None


def _class(kind: type) -> dict[str, Any]:
    """Whose class it is, and what it can be asked for: one of a library's, or of the program's, may have the name of torch's."""
    return {
        "class_package": kind.__module__.partition(".")[0],
        "takes": [name for name in _AT_ONCE if _takes(kind, name)],
    }


def _takes(kind: type, name: str) -> bool:
    """Whether a constructor has an argument, or hands on what it does not know to one that has it."""
    for one in kind.__mro__:
        if "__init__" not in vars(one):
            continue
        arguments = inspect.signature(vars(one)["__init__"]).parameters.values()
        if any(argument.name == name for argument in arguments):
            return True
        if not any(argument.kind is inspect.Parameter.VAR_KEYWORD for argument in arguments):
            return False
    return False
