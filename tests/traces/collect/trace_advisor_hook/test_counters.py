"""Counters are asked for where they can be had, clocks or activity, and the parent hears why they are not."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from traces.collect.trace_advisor_hook.phases import counters
from traces.collect.trace_advisor_hook.phases.counters import KINDS, lacking, sampling, watch_graphs
from traces.collect.trace_advisor_hook.watcher import Watcher

torch = pytest.importorskip("torch")

NEW = SimpleNamespace(CuspyConfig=None, PerformanceMetricsConfig=None, ProfilerActivityConfig=None)


@pytest.mark.parametrize(
    ("devices", "profiler", "installed", "said"),
    [
        (["cuda"], NEW, True, ""),
        ([], NEW, True, "no CUDA device"),
        (["xpu"], NEW, True, "no CUDA device"),
        (["cuda"], SimpleNamespace(), True, "torch 2.9.0 samples none"),
        (["cuda"], NEW, False, "cupti-python is not installed"),
    ],
)
def test_what_lacks_is_named(
    devices: list[str], profiler: object, installed: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "find_spec", lambda name: object() if installed else None)
    told = lacking(SimpleNamespace(profiler=profiler, __version__="2.9.0"), devices)
    assert said in told
    assert bool(told) is bool(said)


@pytest.mark.skipif(not hasattr(torch.profiler, "CuspyConfig"), reason="torch before 2.15")
@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_has_clocks_or_activity_and_never_both(kind: str) -> None:
    activity = torch.profiler.ProfilerActivity
    made = torch.profiler.profile(activities=[activity.CPU, sampling(torch, kind)])
    assert made.activities == {activity.CPU, activity.CUDA}
    config = made.activity_configs[activity.CUDA]
    (environment,) = (one for one in config.profiler_configs if isinstance(one, torch.profiler.CuspyConfig))
    metrics = [one for one in config.profiler_configs if isinstance(one, torch.profiler.PerformanceMetricsConfig)]
    assert environment.enable_environment_counters is (kind == "clocks")
    assert environment.enable_graph_dependencies
    assert environment.enable_event_node_ids
    assert environment.enable_cuda_sync_events
    assert bool(metrics) is (kind == "activity")
    assert all(one.metric_names for one in metrics)


@pytest.mark.skipif(not hasattr(torch.profiler, "CuspyConfig"), reason="torch before 2.15")
@pytest.mark.parametrize("installed", [True, False])
def test_graphs_are_watched_from_the_import_of_torch_on(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hooked = MagicMock()
    monkeypatch.setattr("torch.cuda.graphs.register_graph_instantiate_hook", hooked)
    monkeypatch.setattr("torch.profiler._cuspy._graph_deps._GraphDependencyRecorder._instance", None)
    monkeypatch.setattr("torch.profiler._cuspy._event_nodes._EventNodeRecorder._instance", None)
    monkeypatch.setattr(counters, "find_spec", lambda name: object() if installed else None)
    watch_graphs(torch)
    assert hooked.called is installed


@pytest.mark.parametrize(("asked", "lacks"), [("", ""), ("clocks", ""), ("activity", ""), ("clocks", "a device")])
def test_the_profiler_is_asked_and_the_parent_hears_what_lacks(
    asked: str, lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, phases = MagicMock(), "traces.collect.trace_advisor_hook.phases.phases"
    monkeypatch.setattr(torch.profiler, "profile", made)
    monkeypatch.setattr(f"{phases}.lacking", lambda *_: lacks)
    monkeypatch.setattr(f"{phases}.sampling", lambda _, kind: f"sampled {kind}")
    monkeypatch.setattr(Watcher, "devices", lambda _: ["cuda"])
    monkeypatch.setattr(f"{phases}.time_loop", list)
    watcher = Watcher(
        {"wait": 1, "folder": str(tmp_path), "warmup": 1, "stacks": False, "shapes": False, "counters": asked}
    )
    watcher.start_profiler(1, stacks=False, shapes=False)
    watcher.marks.stop()
    watcher.tell()
    kinds = torch.profiler.ProfilerActivity
    wanted = f"sampled {asked}" if asked and not lacks else kinds.CUDA
    assert made.call_args.kwargs["activities"] == [kinds.CPU, wanted]
    (status,) = tmp_path.glob("status-*.json")
    assert json.loads(status.read_text())["counters_left_out"] == lacks
