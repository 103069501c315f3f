"""Passes of the garbage collector are in what is recorded, where they ran."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset

from traces.collect import record
from traces.collect.trace_advisor_hook.marks.gc_marks import CollectionMarks


class Samples(Dataset[Any]):
    """Looks for garbage before the twenty-fifth sample."""

    def __init__(self, generation: int) -> None:
        self.generation = generation

    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 24:
            gc.collect(self.generation)
        return torch.ones(4)


def recorded(path: Path, generation: int) -> list[dict[str, Any]]:
    """Events of six steps, the last but one of which collects."""
    gc.disable()
    try:
        with record(path, wait=1, warmup=1, active=6) as recorder:
            for batch in DataLoader(Samples(generation), batch_size=4):
                (batch @ batch.T).sum()
                recorder.step()
    finally:
        gc.enable()
    document = json.loads(path.read_bytes())
    assert document["advisor"]["gc_recorded"] is True
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


@pytest.mark.parametrize("generation", [1, 2])
def test_a_pass_lies_inside_the_call_it_interrupts(tmp_path: Path, generation: int) -> None:
    events = recorded(tmp_path / "t.json", generation)
    (found,) = (event for event in events if event["name"] == "Python GC")
    calls = [event for event in events if event["name"].endswith("DataLoaderIter.__next__")]
    around = [
        call for call in calls if call["ts"] <= found["ts"] < call["ts"] + call["dur"] and call["tid"] == found["tid"]
    ]
    assert len(around) == 1
    assert found["ts"] + found["dur"] <= around[0]["ts"] + around[0]["dur"]


def test_the_young_generation_is_left_out(tmp_path: Path) -> None:
    assert "Python GC" not in {event["name"] for event in recorded(tmp_path / "t.json", 0)}


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = list(gc.callbacks)
    recorded(tmp_path / "t.json", 2)
    assert gc.callbacks == before
    marks = CollectionMarks()
    marks.start()
    marks.start()
    assert len(gc.callbacks) == len(before) + 1
    marks.stop()
    marks.stop()
    assert gc.callbacks == before


class Marks(CollectionMarks):
    """Marks whose passes are told by hand, and what became of each range."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.told: list[str] = []
        told = self.told

        class Range:
            def __init__(self, name: str) -> None:
                told.append(name)

            def __enter__(self) -> None:
                told.append("begins")

            def __exit__(self, *_: object) -> None:
                told.append("ends")

        monkeypatch.setattr(torch._C._profiler, "_RecordFunctionFast", Range, raising=False)


def test_each_pass_but_the_youngest_is_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks(monkeypatch)
    for generation in (0, 1, 2):
        for phase in ("start", "stop"):
            marks.mark(phase, {"generation": generation})
    assert marks.told == ["Python GC", "begins", "ends"] * 2


def test_a_pass_that_began_before_the_recording_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks(monkeypatch)
    marks.mark("stop", {"generation": 2})
    assert marks.told == []


def test_a_pass_that_outlasts_the_recording_ends_no_range_of_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks(monkeypatch)
    marks.mark("start", {"generation": 2})
    marks.stop()
    marks.mark("stop", {"generation": 2})
    assert marks.told == ["Python GC", "begins"]


def test_a_forked_child_marks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks(monkeypatch)
    monkeypatch.setattr("os.getpid", lambda: marks.pid + 1)
    marks.mark("start", {"generation": 2})
    assert marks.told == []


def _asks() -> None:
    gc.collect()
    gc.collect(1)


def test_who_asks_for_a_pass_over_all_objects_is_told() -> None:
    marks = CollectionMarks()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        marks.start()
        for _ in range(3):
            _asks()
        marks.stop()
    told = marks.told()["collections"]
    assert (told["full"], told["asked"]) == (3, 3)
    assert told["line"] == {
        "file": __file__, "line": _asks.__code__.co_firstlineno + 1, "function": "_asks", "asked": 3
    }  # fmt: skip
    marks.start()
    assert marks.told()["collections"] == {"full": 0, "asked": 0}
    marks.stop()
