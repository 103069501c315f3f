"""Which code makes an optimizer: a line of the user's own, or a library's function that has its arguments from elsewhere."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from .own_code import is_installed, is_own, library_folders, qualified

_MOST_FRAMES, _MOST = 60, 8


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
        row = _maker(optimizer, frame)
        if row is not None and row not in self._rows and len(self._rows) < _MOST:
            self._rows.append(row)

    def told(self) -> list[dict[str, Any]]:
        """Rows of class; package and function where a library's function makes it, else None; file and line of the user's own.

        File and line are None where no code of the user's own leads there.
        """
        return self._rows


def _maker(optimizer: Any, frame: FrameType | None) -> dict[str, Any] | None:
    package = function = None
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        if not _constructs(optimizer, frame):
            if is_own(code.co_filename):
                return _row(optimizer, package, function, os.path.realpath(code.co_filename), frame.f_lineno)
            if package is None and is_installed(code.co_filename):
                package, function = _package(code.co_filename), qualified(code, frame.f_locals.get("self"))
        frame = frame.f_back
    return None if package is None else _row(optimizer, package, function, None, None)


def _row(
    optimizer: Any, package: str | None, function: str | None, file: str | None, line: int | None
) -> dict[str, Any]:
    return {
        "class": type(optimizer).__name__,
        "package": package,
        "function": function,
        "file": file,
        "line": line,
    }


def _constructs(optimizer: Any, frame: FrameType) -> bool:
    """Whether the frame is of the optimizer itself, of whatever class it is derived from."""
    names = frame.f_code.co_varnames
    return bool(names) and frame.f_locals.get(names[0]) is optimizer


def _package(file: str) -> str | None:
    """The package of an installed module, by its folder."""
    path = os.path.realpath(file)
    inside = [os.path.relpath(path, folder) for folder in library_folders() if path.startswith(folder + os.sep)]
    return min(inside, key=len).split(os.sep)[0].removesuffix(".py") if inside else None


def constructor() -> FrameType | None:
    """The frame that makes an optimizer, for a method that its constructor calls; None where another calls it."""
    frame = sys._getframe(2)
    return frame if frame.f_code.co_name == "__init__" else None
