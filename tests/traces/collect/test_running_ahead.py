"""A host that runs ahead of its device: its steps are short, the device's are not."""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from traces.collect import record
from traces.collect.trace_advisor_hook.steps.step_times import usual_step, wait_for_devices


class Device:
    """Does each piece of work in `work_s`, one after the other, while the host goes on."""

    def __init__(self, work_s: float, *, capturing: bool = False) -> None:
        self.work_s = work_s
        self.free_at = 0.0
        self.waited = 0
        self.is_current_stream_capturing = lambda: capturing

    def is_initialized(self) -> bool:
        """Torch's name for it."""
        return True

    def give(self) -> None:
        """Start a piece of work."""
        self.free_at = max(self.free_at, time.monotonic()) + self.work_s

    def synchronize(self) -> None:
        """Wait until all is done."""
        self.waited += 1
        time.sleep(max(0.0, self.free_at - time.monotonic()))


def test_a_step_takes_what_its_device_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(0.01)
    monkeypatch.setattr("torch.cuda.is_initialized", device.is_initialized)
    monkeypatch.setattr("torch.cuda.is_current_stream_capturing", device.is_current_stream_capturing)
    monkeypatch.setattr("torch.cuda.synchronize", device.synchronize)
    monkeypatch.setattr("traces.collect.trace_advisor_hook.surroundings.machine._gpu", lambda: None)
    with record(tmp_path / "t.json", wait=2, warmup=1, active=3) as recorder:
        for _ in range(40):
            device.give()
            recorder.step()
    advisor = json.loads((tmp_path / "t.json").read_bytes())["advisor"]
    # Before the first timed step and after the last: what was given before is not theirs.
    assert device.waited == 2
    assert advisor["unprofiled_steps"] == 20
    assert 9_000_000 < advisor["unprofiled_step_ns"] < 20_000_000


def test_what_is_captured_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(0.0, capturing=True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=device))  # type: ignore[arg-type]
    wait_for_devices()
    assert device.waited == 0
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=Device(0.02), xpu=device))  # type: ignore[arg-type]
    sys.modules["torch"].cuda.give()
    assert wait_for_devices() > 15_000_000


def test_the_rest_of_the_device_is_spread_over_the_steps() -> None:
    assert usual_step([10, 12, 14], 30) == 22
    assert usual_step([10, 12, 90], 0) == 12
    assert usual_step([], 30) is None
