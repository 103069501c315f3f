"""Ranges around batches that Lightning draws from what is no DataLoader of torch's."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from traces.collect.trace_advisor_hook.marks.fetch_marks import FetchMarks

torch = pytest.importorskip("torch")


class _Profiler:
    pass


class PyTorchProfiler:
    """Lightning's own, which marks them itself."""


class _Loop:
    def __init__(self, profiler: object) -> None:
        self.trainer = types.SimpleNamespace(profiler=profiler)

    def before(self) -> None:
        pass


class _TrainingEpochLoop(_Loop):
    pass


class _EvaluationLoop(_Loop):
    pass


@pytest.fixture
def fetchers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of Lightning's, with a fetcher as it has."""

    class _DataFetcher:
        def __init__(self, iterable: Any, loop: _Loop) -> None:
            self.combined_loader = types.SimpleNamespace(flattened=[iterable])
            self.iterator = iter(iterable)
            self._start_profiler = loop.before

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            return next(self.iterator)

    module = types.ModuleType("lightning.pytorch.loops.fetchers")
    module._DataFetcher = _DataFetcher  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def _ranges(fetchers: Any, iterable: Any, loop: _Loop) -> list[str]:
    """Names of the ranges that drawing twice leaves in a recording."""
    marks, fetcher = FetchMarks(), fetchers._DataFetcher(iterable, loop)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        marks.start()
        drawn = [next(fetcher), next(fetcher)]
        marks.stop()
        next(fetcher)
    assert len(drawn) == 2
    return [event.name for event in profiler.events() if event.name.startswith("[pl]")]


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        (_TrainingEpochLoop(_Profiler()), "[pl][profile][_TrainingEpochLoop].train_dataloader_next"),
        (_EvaluationLoop(_Profiler()), "[pl][profile][_EvaluationLoop].val_next"),
    ],
)
def test_each_batch_of_an_iterable_is_marked_while_the_profiler_is_on(fetchers: Any, loop: _Loop, name: str) -> None:
    assert _ranges(fetchers, [1, 2, 3], loop) == [name, name]


def test_what_torch_or_lightning_marks_is_not_marked_again(fetchers: Any) -> None:
    loader = torch.utils.data.DataLoader([1, 2, 3, 4])
    assert _ranges(fetchers, loader, _TrainingEpochLoop(_Profiler())) == []
    assert _ranges(fetchers, [1, 2, 3], _TrainingEpochLoop(PyTorchProfiler())) == []


def test_without_lightning_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lightning.pytorch.loops.fetchers", raising=False)
    monkeypatch.delitem(sys.modules, "pytorch_lightning.loops.fetchers", raising=False)
    marks = FetchMarks()
    marks.start()
    assert marks.wrapped == []
    marks.stop()
