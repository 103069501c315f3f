"""Versions whose profiler ends the program where it looks at Python's frames are asked for none."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from traces.collect.trace_advisor_hook.phases.stacks import stacks_are_safe


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
