"""Where the user's own code makes loaders and optimizers and calls the model: for the diff that a change comes to."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from ..software.own_code import is_own

_MOST_FRAMES = 60


def place() -> dict[str, Any] | None:
    """File and line of the innermost frame of the user's own code; None where only libraries call."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return None
        if is_own(frame.f_code.co_filename):
            return {"file": os.path.realpath(frame.f_code.co_filename), "line": frame.f_lineno}
        frame = frame.f_back
    return None


def note(calls: dict[str, Any], kind: str, name: str) -> None:
    """Remember where the first few of a kind were called."""
    found = place()
    places = calls.setdefault(kind, [])
    if found is not None and len(places) < 8 and (found | {"name": name}) not in places:
        places.append(found | {"name": name})
