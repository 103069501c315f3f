"""What is kept to the end of a process, made without looking for cycles of garbage in it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No cycle collection of what is made while the context holds, nor behind it.

    Going over the measurements of a trace frees nothing: it costs a twentieth of explaining it, and behind the context once more
    40 ms, which is longer than a key may take to answer. Going over what pandas brings, while it is imported, costs as much.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
