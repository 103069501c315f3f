"""The reference loop is not charged with passes of the garbage collector over what recording imports.

Each in a process of its own: the tests' has frozen all that it holds, and lets go of none of it (`tests/conftest.py`).
"""

from __future__ import annotations

import subprocess
import sys

from running.recorded import ROOT

BEFORE = """
import gc
from traces.collect.recorder.own_heap import own_heap_left_alone

class Cycle:
    # Something only the garbage collector frees.
    def __init__(self):
        self.me = self
"""


def holds(program: str) -> None:
    """Runs a program whose assertions have to hold."""
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_was_there_before_is_not_looked_at() -> None:
    holds("""
there = [Cycle() for _ in range(1000)]
assert gc.get_freeze_count() == 0
with own_heap_left_alone():
    assert gc.get_freeze_count() > len(there)
    assert not any(found is there[0] for found in gc.get_objects())
assert gc.get_freeze_count() == 0
assert any(found is there[0] for found in gc.get_objects())
""")


def test_what_is_made_inside_is_collected_as_ever() -> None:
    holds("""
with own_heap_left_alone():
    Cycle()
    assert gc.collect() >= 1
""")


def test_an_error_leaves_nothing_frozen() -> None:
    holds("""
try:
    with own_heap_left_alone():
        raise RuntimeError("inside")
except RuntimeError as error:
    assert str(error) == "inside"
else:
    raise AssertionError("it was swallowed")
assert gc.get_freeze_count() == 0
""")
