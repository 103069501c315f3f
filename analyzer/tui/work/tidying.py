"""Collecting cycles while nobody presses a key.

What Textual keeps of drawn lines is a hundred thousand objects: to go over them takes as long as a key may (40 to 80 ms on a small
machine), and Python would do it in the middle of one. Young objects are collected as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Nothing was made for so long: nobody presses a key.
QUIET_SECONDS = 1.0
# Never by itself. More are not accepted as an int of C.
_NEVER = 1 << 30


@contextmanager
def collecting_when_quiet(quiet_seconds: float = QUIET_SECONDS) -> Iterator[None]:
    """Inside, all is collected only while nothing happens.

    Args:
        quiet_seconds: How long nothing has to happen.
    """
    before = gc.get_threshold()
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(ended, quiet_seconds, before[2]), name="tidying", daemon=True)
    gc.set_threshold(before[0], before[1], _NEVER)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        gc.set_threshold(*before)


def _watch(ended: threading.Event, quiet_seconds: float, due: int) -> None:
    last = gc.get_count()[1:]
    while not ended.wait(quiet_seconds):
        now = gc.get_count()[1:]
        # How often the middle generation was collected since all was: Python would do it at more than `due`.
        if now == last and now[1] > due and gc.isenabled():
            gc.collect()
        last = gc.get_count()[1:]
