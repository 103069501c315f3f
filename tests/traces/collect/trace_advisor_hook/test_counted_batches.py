"""How many batches a program is told to have drawn: those it was given, not the calls that end its passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook import wrapping
from traces.collect.trace_advisor_hook.steps.step_times import batches_of_a_step
from traces.collect.trace_advisor_hook.watcher import Watcher

_SETTINGS = {"wait": 100, "warmup": 3, "least": 6, "most": 24, "long_ns": 10**12, "stacks": False, "shapes": False}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[Watcher, Callable[[list[int]], Iterator[int]]]:
    """Who is told of batches, and a loader's iterator; not torch's own class, which could not be put back as it was."""

    class OfLoader:
        def __init__(self, loader: list[int]) -> None:
            self.batches = iter(loader)

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            return next(self.batches)

    class Loader:
        """In the place of torch's, which would keep what is put into it."""

    module = SimpleNamespace(_BaseDataLoaderIter=OfLoader, DataLoader=Loader)
    monkeypatch.setattr(wrapping.importlib, "import_module", lambda _: module)
    watcher = Watcher(_SETTINGS)
    wrapping._wrap_loaders(watcher)
    return watcher, OfLoader


@pytest.mark.parametrize("passes", [1, 4])
def test_the_call_that_ends_a_pass_gives_none(watched: Any, passes: int) -> None:
    watcher, of_loader = watched
    for _ in range(passes):
        assert list(of_loader([1, 2, 3])) == [1, 2, 3]
    assert (watcher.counts["loader"], watcher.drawing.batches) == (3 * passes, 3 * passes)


def test_a_pass_that_is_left_early_counts_what_it_gave(watched: Any) -> None:
    watcher, of_loader = watched
    next(of_loader([1, 2, 3]))
    assert watcher.counts["loader"] == 1


def test_a_step_that_holds_an_evaluation_leaves_the_batches_of_a_step_as_they_are() -> None:
    assert batches_of_a_step([1, 1, 41, 1, 1]) == 1.0
