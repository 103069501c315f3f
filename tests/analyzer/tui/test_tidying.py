"""Cycles are collected while nothing happens, and Esc does not wait longer than it has to."""

from __future__ import annotations

import gc
import os
import selectors
import subprocess
import sys
import time
import weakref

import pytest

from analyzer.tui.work.tidying import collecting_when_quiet


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.slow
def test_all_is_collected_once_it_is_quiet_and_the_limits_come_back() -> None:
    before = gc.get_threshold()
    with collecting_when_quiet(0.02):
        assert gc.get_threshold()[2] > 1_000_000
        cycle = _Cycle()
        gone = weakref.ref(cycle)
        # Old enough that only the collection of all finds it.
        gc.collect(0)
        gc.collect(1)
        del cycle
        for _ in range(before[2] + 1):
            gc.collect(1)
        end = time.monotonic() + 30
        while gone() is not None and time.monotonic() < end:
            time.sleep(0.05)
        assert gone() is None
    assert gc.get_threshold() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there the console tells keys apart")
def test_textual_looks_for_the_end_of_an_escape_as_often_as_it_waits_for_one() -> None:
    # In a process of its own: what is changed stays so.
    program = (
        "import analyzer.tui, os, time; from analyzer.tui.keyboard.prompt import answer_soon; from textual import constants\n"
        "from textual.drivers import linux_driver as d; answer_soon(); answer_soon(); s = d.selectors.SelectSelector()\n"
        "r, w = os.pipe(); s.register(r, d.selectors.EVENT_READ); began = time.monotonic(); assert s.select(0.3) == []\n"
        "assert time.monotonic() - began > 0.25; os.write(w, b'x'); assert s.select(60); os.read(r, 1)\n"
        "began = time.monotonic(); assert s.select(60) == []; assert time.monotonic() - began < 50\n"
        "assert constants.ESCAPE_DELAY == 0.01"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ESCDELAY"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert selectors.SelectSelector.__module__ == "selectors"
