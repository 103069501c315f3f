"""Memory that one thread freed for the next one to use, where the system's allocator would keep it apart.

glibc gives each thread a heap of its own and hands little of one back: rules run in a thread beside the one that reads and judges,
and what both had freed stayed with the process (a quarter of the size of a trace of small events).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# `M_ARENA_MAX` of malloc.h, and how a user sets the same.
_ARENA_MAX = -8
_SET_BY_USER = "MALLOC_ARENA_MAX"
_RESIDENT = Path("/proc/self/statm")
# Pages that are given back and needed again are cleared again, 0.1 s a gigabyte: not for less.
_WORTH_BYTES = 32 << 20


def share_one_heap() -> bool:
    """Let all threads begun from here on share one heap; for a process that is ours alone. Whether the system can do that.

    Two threads that allocate at the same time wait for one another; here one computes and the other waits for it.
    """
    if not sys.platform.startswith("linux") or _SET_BY_USER in os.environ:
        return False
    # Ten milliseconds, which an answer that was kept need not wait for.
    import ctypes

    # Other C libraries have no such heaps.
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    return set_option is not None and bool(set_option(_ARENA_MAX, 1))


class Leftover:
    """What a process has freed and still holds, between pieces of work each of which needs as much again for itself."""

    def __init__(self) -> None:
        self._held = _resident_bytes()

    def give_back(self) -> bool:
        """Hands it to the system where the process has grown by so much since that it is worth it. Whether it has."""
        if _resident_bytes() < self._held + _WORTH_BYTES:
            return False
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        given = trim is not None and bool(trim(0))
        self._held = _resident_bytes()
        return given


def _resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    try:
        # Asked after each rule: without a buffer and an object for the file, in half the time.
        told = os.open(_RESIDENT, os.O_RDONLY)
        try:
            return int(os.read(told, 1 << 10).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(told)
    except (OSError, ValueError, IndexError):
        return 0
