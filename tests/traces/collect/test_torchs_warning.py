"""Torch 2.11 warns of each profiler that it clears events; warnings are errors here, as they may be in any script."""

import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from traces.collect import record
from traces.collect.trace_advisor_hook.phases.torchs_warning import without_torchs_warning
from traces.collect.trace_advisor_hook.watcher import Watcher


@pytest.fixture(autouse=True)
def _warns(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = torch.profiler.profile.prepare_trace

    def prepare_trace(self: torch.profiler.profile) -> None:
        warnings.warn("Warning: Profiler clears events at the end of each cycle.Only events", stacklevel=2)
        prepare(self)

    monkeypatch.setattr(torch.profiler.profile, "prepare_trace", prepare_trace)


@pytest.mark.parametrize("wait", [0, 2])
def test_marked_steps(tmp_path: Path, wait: int) -> None:
    with record(tmp_path / "t.json", wait=wait, warmup=1, active=3) as recorder:
        for _ in range(8):
            torch.ones(2).sum()
            recorder.step()
    assert recorder.recorded == 3


def test_what_was_warned_of_once_is_not_shown_again(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("default")
    for _ in range(3):
        warnings.warn("of the script", stacklevel=1)
        with without_torchs_warning():
            pass
    assert [str(warning.message) for warning in recwarn] == ["of the script"]


def test_a_script(tmp_path: Path) -> None:
    watcher = Watcher({"wait": 1, "folder": str(tmp_path)})
    watcher.start_profiler(1, False, False)
    assert watcher.profiler is not None
    watcher.abandon()
    with pytest.raises(UserWarning, match="other"), without_torchs_warning():
        warnings.warn("some other", stacklevel=1)
