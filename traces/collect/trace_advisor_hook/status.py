"""What the script's process and its parent leave for each other in the shared folder."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any


def write_status(path: str, status: dict[str, Any]) -> None:
    """Write how far a recording is, so that nobody reads half of it; where there is no room, nothing."""
    with contextlib.suppress(OSError):
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(status, file)
        os.replace(path + ".part", path)


def read_word(path: str) -> str | None:
    """What the parent said, None so far."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return file.read().strip() or None
    return None
