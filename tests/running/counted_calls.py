"""How much something does, counted where a shared machine's clock is no test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def calls_of(what: Callable[[], object]) -> int:
    """How many calls, of Python and of C, something takes."""
    calls = 0

    def count(frame: object, event: str, called: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    # Rules run in a thread of their own.
    threading.setprofile(count)  # type: ignore[arg-type]
    sys.setprofile(count)
    try:
        what()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls
