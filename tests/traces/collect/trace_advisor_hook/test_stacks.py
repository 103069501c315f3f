"""Versions whose profiler ends the program where it looks at Python's frames are asked for none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from traces.collect.trace_advisor_hook.phases.stacks import stacks_are_safe
from traces.collect.trace_advisor_hook.watcher import Watcher


@pytest.mark.parametrize(
    ("python", "torch", "safe"),
    [
        ((3, 13), "2.6.0+cu124", False),
        ((3, 13), "2.7.0", True),
        ((3, 13), "2.11.0a0+git1", True),
        ((3, 12), "2.6.0", True),
    ],
)
def test_torch_before_2_7_records_no_stacks_on_python_3_13(
    python: tuple[int, int], torch: str, safe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (*python, 0))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__=torch))
    assert stacks_are_safe() is safe


@pytest.mark.parametrize(("asked", "safe"), [(True, False), (True, True), (False, False)])
def test_the_parent_hears_that_stacks_were_left_out(
    asked: bool, safe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    made = MagicMock()
    monkeypatch.setattr("traces.collect.trace_advisor_hook.phases.phases.stacks_are_safe", lambda: safe)
    monkeypatch.setattr(torch.profiler, "profile", made)
    watcher = Watcher({"wait": 1, "folder": str(tmp_path), "warmup": 1, "stacks": asked, "shapes": False})
    watcher.start_profiler(1, asked, shapes=False)
    watcher.marks.stop()
    watcher.tell()
    assert made.call_args.kwargs["with_stack"] is (asked and safe)
    (status,) = tmp_path.glob("status-*.json")
    assert json.loads(status.read_text())["stacks_left_out"] is (asked and not safe)
