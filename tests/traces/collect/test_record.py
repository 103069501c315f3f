"""Steps marked by hand."""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from traces.collect import record
from traces.collect.trace_advisor_hook.surroundings.python_loop import ROUNDS, TURNS
from traces.errors import UsageError


def test_marked_steps_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "ERROR")
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    path = tmp_path / "t.json"
    loader = DataLoader(TensorDataset(torch.randn(200, 4)), batch_size=4)
    with record(path, wait=2, warmup=1, active=3, loader=loader) as recorder:
        for (inputs,) in loader:
            (inputs @ inputs.T).sum()
            recorder.step()
    trace = json.loads(path.read_bytes())
    steps = [event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
    assert steps == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    assert trace["advisor"]["loader"]["batch_size"] == 4
    assert trace["advisor"]["unprofiled_steps"] == 20
    assert trace["advisor"]["dataset"] == {
        "name": "TensorDataset",
        "length": 200,
        "sample_bytes": 16,
        "batch_kind": "tensors",
        "batch_tensors": 1,
        "sample": {"form": "sequence", "parts": 1},
        "random": None,
    }
    # What the hook says of a script's process is said of a marked loop's too.
    assert trace["advisor"]["flags"]["anomaly_mode"] is False
    assert trace["advisor"]["environment"]["TORCH_CPP_LOG_LEVEL"] == "ERROR"
    assert "hush" not in path.read_text()
    loop = trace["advisor"]["python_loop"]
    # Timed before and after.
    assert (loop["turns"], loop["rounds"]) == (TURNS, 2 * ROUNDS)
    assert 0 < loop["fastest_ns"] <= min(loop["median_ns"], loop["mean_ns"])


@pytest.mark.parametrize(("wait", "warmup"), [(0, 0), (0, 1), (1, 0)])
def test_the_loop_is_timed_whatever_the_schedule(tmp_path: Path, wait: int, warmup: int) -> None:
    path = tmp_path / "t.json"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Profiler won't be using warmup", category=UserWarning)
        with record(path, wait=wait, warmup=warmup, active=3) as recorder:
            for _ in range(6):
                torch.ones(4).sum()
                recorder.step()
    assert json.loads(path.read_bytes())["advisor"]["python_loop"]["rounds"] == 2 * ROUNDS


def test_other_loaders_and_batches_without_tensors_tell_no_size(tmp_path: Path) -> None:
    loader = DataLoader([{"text": "a"}] * 40, batch_size=4)  # type: ignore[arg-type]
    other = DataLoader(TensorDataset(torch.randn(40, 4)))
    draw = _BaseDataLoaderIter.__next__
    with record(tmp_path / "t.json", wait=2, warmup=1, active=3, loader=loader) as recorder:
        for _ in zip(loader, other, strict=False):
            recorder.step()
    advisor = json.loads((tmp_path / "t.json").read_bytes())["advisor"]
    assert (advisor["dataset"]["length"], advisor["dataset"]["sample_bytes"]) == (40, None)
    assert (advisor["dataset"]["batch_kind"], advisor["dataset"]["sample"]) == ("mapping", None)
    assert _BaseDataLoaderIter.__next__ is draw


def test_batches_that_the_data_set_makes_whole_are_as_large_as_their_sampler_says(tmp_path: Path) -> None:
    path, data = tmp_path / "t.json", TensorDataset(torch.randn(200, 4))
    loader = DataLoader(data, sampler=BatchSampler(RandomSampler(data), 8, drop_last=False), batch_size=None)
    with record(path, wait=2, warmup=1, active=3, loader=loader) as recorder:
        for _ in loader:
            recorder.step()
    advisor = json.loads(path.read_bytes())["advisor"]
    assert (advisor["batch_size"], advisor["loader"]["batch_size"]) == (8, None)
    assert advisor["dataset"]["sample_bytes"] == 16


def test_a_profiler_of_the_loops_own_is_told(tmp_path: Path) -> None:
    own, told = torch.profiler.profile(), pytest.raises(UsageError, match="profiler of its own")
    with own, told, record(tmp_path / "t.json", wait=2, warmup=1, active=3) as recorder:
        any(recorder.step() for _ in range(6))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="the system does not tell")
def test_time_without_a_core_is_recorded(tmp_path: Path) -> None:
    def busy() -> None:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass

    def now() -> tuple[int, int]:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]), time.monotonic_ns()

    before = os.sched_getaffinity(0)
    core = {min(before)}
    ends = []
    os.sched_setaffinity(0, core)
    code = (
        "import os, time; os.sched_setaffinity(0, %r)\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"
    )
    with subprocess.Popen([sys.executable, "-c", code % core]) as other:
        try:
            with record(tmp_path / "t.json", wait=2, warmup=1, active=10) as recorder:
                for _ in range(14):
                    busy()
                    recorder.step()
                    ends.append(now())
        finally:
            other.kill()
            os.sched_setaffinity(0, before)
    # Two programs on one core, and whatever else runs there: each has it for half of the time at most.
    (waited, began), (still, ended) = ends[2], ends[12]
    ratio = json.loads((tmp_path / "t.json").read_bytes())["advisor"]["core_wait_ratio"]
    assert ratio > 0.2
    assert ratio == pytest.approx((still - waited) / (ended - began), abs=0.1)


def test_a_loop_that_ends_early_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="5 steps are too few"), record(tmp_path / "t.json") as recorder:
        any(recorder.step() for _ in range(5))
    assert list(tmp_path.iterdir()) == []


def test_what_fails_in_the_loop_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), record(tmp_path / "t.json"):
        raise ZeroDivisionError


def test_an_output_that_cannot_be_written_is_told_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"), record(tmp_path / "no" / "t.json"):
        raise AssertionError("the loop must not run")


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_memory_and_cores_of_the_workers_are_sampled(tmp_path: Path) -> None:
    loader = DataLoader(TensorDataset(torch.randn(200, 4)), batch_size=4, num_workers=1)
    with record(tmp_path / "t.json", wait=2, warmup=1, active=3, loader=loader) as recorder:
        for _ in loader:
            recorder.step()
    samples = json.loads((tmp_path / "t.json").read_bytes())["advisor"]["samples"]
    assert len(samples["worker_cpu_ratio"]) == len(samples["worker_private_bytes"]) == 1
    if Path("/proc/self/schedstat").exists():
        (lacked,) = samples["worker_core_wait_ratio"]
        assert 0 <= lacked <= 1
    assert 0 < samples["memory"]["available_bytes"] <= samples["memory"]["total_bytes"]


def test_a_loop_that_ends_after_the_least_steps_is_recorded_without_the_torn_one(tmp_path: Path) -> None:
    with record(tmp_path / "t.json", wait=2, warmup=1) as recorder:
        for _ in range(11):
            recorder.step()
    trace = json.loads((tmp_path / "t.json").read_bytes())
    steps = [event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{number}" for number in range(3, 11)]
    assert trace["advisor"]["profiler"] == {"wait": 2, "warmup": 1, "active": 8}
    assert trace["advisor"]["samples"] is None
