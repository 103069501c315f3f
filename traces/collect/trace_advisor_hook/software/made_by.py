"""Which code makes an object: a line of the user's own, or a library's function that has its arguments from elsewhere."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

from .own_code import is_installed, is_own, package_of, qualified

_MOST_FRAMES = 60


def maker(thing: Any, frame: FrameType | None) -> dict[str, Any] | None:
    """Class; package and function where a library's function makes it, else None; file and line of the user's own.

    File and line are None where no code of the user's own leads there. None where no library does either.

    Args:
        thing: What is being made, which may be nothing but its class yet.
        frame: Of its constructor, or of one that this calls, or of what calls it.
    """
    package = function = None
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        if not _constructs(thing, frame):
            if is_own(code.co_filename):
                return _row(thing, package, function, os.path.realpath(code.co_filename), frame.f_lineno)
            if package is None and is_installed(code.co_filename):
                package, function = package_of(code.co_filename), qualified(code, frame.f_locals.get("self"))
        frame = frame.f_back
    return None if package is None else _row(thing, package, function, None, None)


def _row(thing: Any, package: str | None, function: str | None, file: str | None, line: int | None) -> dict[str, Any]:
    return {"class": type(thing).__name__, "package": package, "function": function, "file": file, "line": line}


def _constructs(thing: Any, frame: FrameType) -> bool:
    """Whether the frame is of the object itself, of whatever class it is derived from."""
    names = frame.f_code.co_varnames
    return bool(names) and frame.f_locals.get(names[0]) is thing
