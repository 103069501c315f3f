"""The last step that is recorded is as long as the others: what the collector does at its end comes behind its mark."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook.watcher import Watcher


class _Watcher(Watcher):
    """Notes when its profiler is stopped, and when the run is described."""

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        self.order: list[str] = []
        self.profiler = MagicMock()
        self.profiler.stop.side_effect = lambda: self.order.append("mark ends")

    def after_recording(self) -> None:
        """Nothing is written."""

    def describe(self) -> dict[str, Any]:
        self.order.append("described")
        return super().describe()


def test_the_run_is_described_behind_the_mark_of_its_last_step() -> None:
    asked = {"wait": 2, "warmup": 1, "least": 2, "most": 3, "long_ns": 10**12, "stacks": False, "shapes": False}
    watcher = _Watcher(asked)
    watcher.begin()
    for _ in range(1 + 3):
        watcher.take(1_000)
    assert watcher.order == ["mark ends", "described"]
    assert watcher.profiler is None
    assert {"steps", "gc_recorded", "python_loop"} <= set(watcher.details)
