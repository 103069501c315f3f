"""Threads of a process after NumPy was imported, counted by the system, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
PROGRAM = """
import os, sys
from traces.threadless_numpy import import_numpy
if sys.argv[1] == "ours":
    import_numpy()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


def _told(how: str, **variables: str) -> list[str]:
    """Threads, and what the variable says behind the import."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | variables
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return made.stdout.split()


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted where Linux lists them")
def test_numpy_begins_no_threads() -> None:
    """Ours has one thread, where NumPy itself begins more; a variable of ours does not stay behind, one of the user's counts."""
    if _told("plain") == ["1", "None"]:
        pytest.skip("this NumPy begins no threads here (one core, or another BLAS)")
    assert _told("ours") == ["1", "None"]
    assert _told("ours", OPENBLAS_NUM_THREADS="2") == _told("plain", OPENBLAS_NUM_THREADS="2") == ["2", "2"]
