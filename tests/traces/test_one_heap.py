"""Threads that share one heap: how many there are is asked of the C library itself, in a process of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

# Four threads are alive together, and each has allocated.
PROGRAM = """
import ctypes, sys, threading
from traces.one_heap import share_one_heap
shared = share_one_heap() if sys.argv[1] == "share" else None
together = threading.Barrier(5)
def work():
    kept = [bytearray(50_000) for _ in range(20)]
    together.wait(60)
    together.wait(60)
    del kept
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
together.wait(60)
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
c.fclose.argtypes = (ctypes.c_void_p,)
c.malloc_info.argtypes = (ctypes.c_int, ctypes.c_void_p)
stream = c.fopen(sys.argv[2].encode(), b"w")
c.malloc_info(0, stream)
c.fclose(stream)
together.wait(60)
print(shared, open(sys.argv[2]).read().count("<heap nr="))
"""
# Blocks that the system's allocator keeps in its heap, and one above them, so that none of them is at its end.
FREEING = """
from traces.one_heap import Leftover, _resident_bytes
leftover = Leftover()
assert not leftover.give_back()
blocks = [b"x" * 60_000 for _ in range(2_000)]
above = b"x" * 60_000
del blocks
before = _resident_bytes()
given = leftover.give_back()
print(given, before - _resident_bytes() > 80_000_000, leftover.give_back())
"""
pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has a heap for each thread")


def heaps(tmp_path: Path, how: str, **variables: str) -> tuple[str, int]:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"} | variables
    command = [sys.executable, "-c", PROGRAM, how, str(tmp_path / "info.xml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    said, number = done.stdout.split()
    return said, int(number)


def test_threads_have_one_where_they_had_several(tmp_path: Path) -> None:
    assert heaps(tmp_path, "share") == ("True", 1)
    assert heaps(tmp_path, "leave")[1] > 1


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    assert heaps(tmp_path, "share", MALLOC_ARENA_MAX="3") == ("False", 3)


def test_what_was_freed_goes_back_once_it_is_much() -> None:
    done = subprocess.run([sys.executable, "-c", FREEING], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["True", "True", "False"]
