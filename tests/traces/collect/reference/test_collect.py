"""Whole recordings, as small as they get: what the file holds, and what ends a recording early."""

import gzip
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch

from traces.collect import CollectConfig, collect
from traces.collect.output.cores import cpu_features
from traces.collect.reference.session import _placed
from traces.collect.trace_advisor_hook.phases.stacks import stacks_are_safe
from traces.errors import UsageError


def _config(tmp_path: Path, digits_dir: Path, **options: Any) -> CollectConfig:
    small: dict[str, Any] = {"output": tmp_path / "t.json", "device": "cpu", "data_dir": digits_dir, "batch_size": 16}
    return CollectConfig(**small | {"wait": 2, "warmup": 1, "active": 3, "steps": 20} | options)


def _steps(trace: dict[str, Any]) -> list[str]:
    return [event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]


@pytest.mark.slow
def test_a_recording_end_to_end(tmp_path: Path, digits_dir: Path) -> None:
    said: list[str] = []
    progress: list[tuple[int, int, str]] = []
    result = collect(_config(tmp_path, digits_dir), lambda *call: progress.append(call), said.append)

    trace = json.loads(result.path.read_bytes())
    assert _steps(trace) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    assert (result.steps, result.events, result.bytes) == (3, len(trace["traceEvents"]), result.path.stat().st_size)
    names = {event["name"] for event in trace["traceEvents"]}
    assert "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" in names
    assert "Optimizer.step#Adam.step" in names

    advisor = trace["advisor"]
    assert advisor["loader"] == {
        "batch_size": 16,
        "num_workers": 0,
        "pin_memory": False,
        "persistent_workers": False,
        "prefetch_factor": None,
        "shuffle": True,
        "drop_last": False,
    }
    assert advisor["dataset"] == {
        "name": "drawn digits",
        "length": 1280,
        "sample_bytes": 3144,
        "batch_kind": "tensors",
        "batch_tensors": 2,
        "sample": {"form": "sequence", "parts": 2},
        "random": None,
    }
    parameters = 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10
    assert advisor["model"] == {"name": "mlp", "parameters": parameters, "bytes": 4 * parameters}
    assert (advisor["device"], advisor["usable_cores"] >= 1) == ("cpu", True)
    assert advisor["cpu_features"] == cpu_features()
    assert advisor["versions"]["torch"] == str(torch.__version__)
    assert advisor["profiled_step_ns"] == result.profiled_step_ns
    assert advisor["unprofiled_step_ns"] == result.unprofiled_step_ns
    assert advisor["unprofiled_steps"] == 20 - 6 - 8
    assert result.unprofiled_step_ns is not None
    assert 0 < result.unprofiled_step_ns < 10**9

    assert re.fullmatch(r"Epoch 1 \| Average Loss: \d\.\d{6} \(20 of 80 steps\)", said[-1])
    assert progress[0] == (1, 20, "training")


@pytest.mark.slow
def test_the_loss_falls_on_drawn_digits(tmp_path: Path, digits_dir: Path) -> None:
    said: list[str] = []
    collect(_config(tmp_path, digits_dir, steps=None, epochs=3), say=said.append)
    losses = [float(line.rsplit(" ", 1)[1]) for line in said]
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < 1.0


@pytest.mark.slow
def test_nothing_of_the_machine_is_in_the_file(tmp_path: Path, digits_dir: Path) -> None:
    result = collect(_config(tmp_path, digits_dir, stacks=True, shapes=True, output=tmp_path / "t.json.gz", active=1))
    text = gzip.decompress(result.path.read_bytes()).decode()
    # No torch before 2.7 records stacks on Python 3.13.
    assert ("python_function" in text) is stacks_are_safe()
    assert ("traces/collect/reference/loop.py" in text) is stacks_are_safe()
    assert '"Input Dims"' in text
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    for folder in (Path.home(), Path.cwd(), tmp_path, digits_dir):
        assert str(folder) not in text
    assert not re.search(r'"/|[ ;(]/\w+/', text), "an absolute path is left"


@pytest.mark.slow
def test_workers_and_their_notes(tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.collect.reference.session.usable_cores", lambda: 1)
    said: list[str] = []
    result = collect(_config(tmp_path, digits_dir, num_workers=2, pin_memory=True, warmup=0), say=said.append)
    trace = json.loads(result.path.read_bytes())
    assert len(_steps(trace)) == 3
    assert "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" in result.path.read_text()
    assert (trace["advisor"]["loader"]["num_workers"], trace["advisor"]["loader"]["pin_memory"]) == (2, False)
    assert [line for line in said if line.startswith("Note:")] == [
        "Note: --pin-memory is off, there is no accelerator to copy to.",
        "Note: 2 workers share 1 core with the training.",
        "Note: without warm-up the first recorded step holds the profiler's own start.",
    ]


def test_stacks_that_torch_cannot_record_are_told(
    tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in ("reference.session", "trace_advisor_hook.phases.phases"):
        monkeypatch.setattr(f"traces.collect.{user}.stacks_are_safe", lambda: False)
    said: list[str] = []
    result = collect(_config(tmp_path, digits_dir, stacks=True, active=1), say=said.append)
    assert "python_function" not in result.path.read_text()
    assert "Note: no stacks are recorded: torch before 2.7" in said[0]


def test_steps_that_end_with_the_schedule_leave_none_to_time(tmp_path: Path, digits_dir: Path) -> None:
    result = collect(_config(tmp_path, digits_dir, steps=6))
    assert (result.steps, result.unprofiled_step_ns) == (3, None)


def test_too_few_steps(tmp_path: Path, digits_dir: Path) -> None:
    with pytest.raises(UsageError, match="5 training steps are too few: recording 3 needs 6"):
        collect(_config(tmp_path, digits_dir, steps=5))
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_told_before_training(tmp_path: Path, digits_dir: Path) -> None:
    said: list[str] = []
    with pytest.raises(UsageError, match="cannot write"):
        collect(_config(tmp_path, digits_dir, output=tmp_path / "no" / "t.json"), say=said.append)
    assert said == []


def test_missing_torch_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pip install torch torchvision pillow"):
        collect(CollectConfig(output=tmp_path / "t.json"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
def test_cuda_without_a_device_is_told(tmp_path: Path, digits_dir: Path) -> None:
    with pytest.raises(UsageError, match="no CUDA device"):
        collect(_config(tmp_path, digits_dir, device="cuda"))


def test_a_worker_that_dies_is_told(tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision import datasets

    monkeypatch.setattr(datasets.MNIST, "__getitem__", _die_in_a_worker(datasets.MNIST.__getitem__))
    with pytest.raises(UsageError, match="DataLoader worker") as caught:
        collect(_config(tmp_path, digits_dir, num_workers=1))
    assert "--num-workers 0" in str(caught.value)


def _die_in_a_worker(load: Any) -> Any:
    def getitem(self: Any, index: int) -> Any:
        if torch.utils.data.get_worker_info() is not None:
            os._exit(9)
        return load(self, index)

    return getitem


def test_an_export_cut_short_is_told(tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: Any, path: str) -> None:
        Path(path).write_text('{"traceEvents": [')

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", cut)
    with pytest.raises(UsageError, match="profiler left no whole trace"):
        collect(_config(tmp_path, digits_dir))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("stop_at", "written"), [(1, False), (3, False), (4, False), (7, True)])
def test_an_interrupt_writes_a_whole_trace_or_none(
    tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int, written: bool
) -> None:
    from traces.collect.reference.loop import Training

    calls: list[int] = []
    step = Training.step

    def interrupted(self: Training, images: Any, labels: Any) -> float:
        calls.append(1)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return step(self, images, labels)

    monkeypatch.setattr(Training, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect(_config(tmp_path, digits_dir))
    assert [path.name for path in tmp_path.iterdir()] == (["t.json"] if written else [])
    if written:
        trace = json.loads((tmp_path / "t.json").read_bytes())
        assert len(_steps(trace)) == 3
        assert trace["advisor"]["unprofiled_step_ns"] is None


def test_what_has_no_room_where_it_was_asked_for_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path, size, why = _placed(tmp_path / "full" / "t.json", b"{}")
    assert (path.name, path.parent.parent, path.read_bytes(), size) == ("t.json", tmp_path, b"{}", 2)
    assert why.startswith("cannot write")
    assert _placed(tmp_path / "t.json", b"{}") == (tmp_path / "t.json", 2, "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))
    with pytest.raises(UsageError, match="cannot write"):
        _placed(tmp_path / "full" / "t.json", b"{}")
