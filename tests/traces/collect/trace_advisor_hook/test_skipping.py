"""How many steps pass before the profiler goes on: start-up costs are over then, whatever ran before the training loop."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

pytest.importorskip("torch")

import torch

from traces.collect.trace_advisor_hook.watcher import Watcher

WAIT = 10
OPTIMIZER = SimpleNamespace()


class _Watcher(Watcher):
    """Without a profiler, but with the number of steps that passed before it went on."""

    passed = 0

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        self.profiler, self.passed = MagicMock(), self.number


def _waiting(steps: int) -> _Watcher:
    return _Watcher(
        {"wait": steps, "warmup": 3, "least": 6, "most": 24, "long_ns": 10**12, "stacks": False, "shapes": False}
    )


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> _Watcher:
    monkeypatch.setattr(_Watcher, "steady", lambda self: True)
    return _waiting(WAIT)


def _batches(watcher: _Watcher, length: int, drawn: int, of_a_step: int = 0) -> None:
    """Draw from a loader of `length` batches, with an optimizer that steps after each `of_a_step`."""
    iterator = SimpleNamespace(_trace_advisor_loader=range(length))
    for number in range(1, drawn + 1):
        watcher.before_batch(iterator)
        if of_a_step and number % of_a_step == 0:
            watcher.after_optimizer(OPTIMIZER)
        if watcher.passed and watcher.source == "optimizer":
            return


@pytest.mark.parametrize("before", [0, 5, 40])
@pytest.mark.parametrize("of_a_step", [1, 4])
def test_what_was_drawn_before_training_does_not_make_its_epochs_shorter(
    watcher: _Watcher, before: int, of_a_step: int
) -> None:
    with torch.no_grad():
        _batches(watcher, 500, before)
    watcher.passed = 0
    _batches(watcher, 100 * of_a_step, 100 * of_a_step, of_a_step)
    assert (watcher.source, watcher.passed) == ("optimizer", WAIT)


@pytest.mark.parametrize(("of_a_step", "steps"), [(1, 16), (3, 16), (1, 13)])
def test_fewer_pass_where_an_epoch_is_short(watcher: _Watcher, of_a_step: int, steps: int) -> None:
    _batches(watcher, steps * of_a_step, steps * of_a_step, of_a_step)
    assert watcher.passed == steps - 10


@pytest.mark.parametrize(("length", "most"), [(100, 23), (1000, 24)])
def test_without_an_optimizer_the_batches_that_were_not_counted_are_gone(
    watcher: _Watcher, length: int, most: int
) -> None:
    with torch.no_grad():
        _batches(watcher, length, 21)
    assert (watcher.passed, watcher.most) == (WAIT, most)


@pytest.mark.parametrize(
    ("wait", "lengths", "passed"),
    [
        (0, [0], 1),
        (2, [0, 100], 2),
        (3, [0, 100, 100], 3),
        (3, [0, 100, 900, 100, 100, 100], 6),
        (3, [0, *[1, 9] * 5], 9),
    ],
)
def test_where_a_loop_is_found_ends_no_step_whose_length_counts(wait: int, lengths: list[int], passed: int) -> None:
    """As much too short it made a loop of equal steps wait for the fourth where two were to be skipped."""
    watcher = _waiting(wait)
    for length in lengths:
        watcher.take(length)
        if watcher.passed:
            break
    assert watcher.passed == passed


def test_the_parent_hears_how_many_are_skipped(watcher: _Watcher) -> None:
    """Of an epoch of twelve steps it said that ten pass, and that 19 are needed."""
    assert watcher.skipping == WAIT
    _batches(watcher, 12, 1, 1)
    assert watcher.skipping == 2
