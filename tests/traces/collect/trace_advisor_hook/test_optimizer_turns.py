"""One step of the loop to a round of its optimizers, however often each of them steps in it."""

from random import Random
from types import FrameType, SimpleNamespace
from typing import cast
from unittest.mock import MagicMock

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook.watcher import Watcher


class _Optimizer:
    """What only its identity is asked of."""


OPTIMIZERS = {name: _Optimizer() for name in "ABC"}
SETTINGS = {"wait": 10, "warmup": 3, "least": 6, "most": 24, "long_ns": 10**12, "stacks": False, "shapes": False}


_CODE = compile("", "train.py", "exec")


class _Watcher(Watcher):
    """Without a profiler; notes after which of the optimizers' steps one of the loop ended."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        super().__init__(SETTINGS)

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        self.profiler = MagicMock()

    def stop_profiler(self) -> None:
        self.profiler = None

    def steady(self) -> bool:
        return True

    def tell(self) -> None:
        """Nobody listens."""

    def boundary(self, source: str) -> None:
        self.ends.append(self.counts["optimizer"])
        super().boundary(source)

    def run(self, order: str) -> "_Watcher":
        for name in order:
            self.after_optimizer(OPTIMIZERS[name])
        return self


def _at(line: int) -> FrameType:
    """A frame of the program's own at one of some lines."""
    return cast("FrameType", SimpleNamespace(f_code=_CODE, f_lineno=line, f_back=None))


def _apart(watcher: _Watcher) -> list[int]:
    return [after - before for before, after in zip(watcher.ends, watcher.ends[1:], strict=False)]


@pytest.mark.parametrize(
    ("order", "round_of"),
    [
        ("A", 1),
        ("AB", 2),
        ("AAB", 3),  # a GAN whose critic takes two steps to one of the generator
        ("BAA", 3),
        ("ABB", 3),
        ("AABB", 4),
        ("AAAAAB", 6),  # WGAN
        ("ABC", 3),
        ("AABAAC", 3),  # C takes B's turn now and then
    ],
)
def test_a_round_of_all_is_one_step(order: str, round_of: int) -> None:
    # The first round does not know yet what comes after it.
    assert set(_apart(_Watcher().run(order * 8))[len(order) :]) == {round_of}


@pytest.mark.parametrize("number", [10, 300])
@pytest.mark.parametrize("shuffled", [False, True])
def test_one_for_each_parameter_steps_once_a_round(number: int, shuffled: bool) -> None:
    """Pyro has an optimizer for each parameter, and takes them from a set: no order is certain. Nothing was recorded of it."""
    watcher, optimizers, drawn = _Watcher(), [_Optimizer() for _ in range(number)], Random(number)
    for _ in range(40):
        if shuffled:
            drawn.shuffle(optimizers)
        for optimizer in optimizers:
            watcher.after_optimizer(optimizer)
    assert (len(watcher.ends), len(watcher.profiled)) == (40, 24)


@pytest.mark.parametrize("passes", [1, 2])
def test_optimizers_inside_a_backward_pass_end_their_step_with_it(passes: int) -> None:
    """Each parameter's steps in a hook of its gradient, on a thread of autograd's where there is a device."""
    watcher, optimizers = _Watcher(), [_Optimizer() for _ in range(12)]
    for _ in range(40):
        for number in range(passes):
            watcher.passes.running = True
            for optimizer in optimizers[number::passes]:
                watcher.after_optimizer(optimizer)
            watcher.passes.running = False
            watcher.after_backward(_at(number))
    assert (len(watcher.ends), len(watcher.profiled)) == (40, 24)
    assert all(end % 12 == watcher.ends[0] % 12 for end in watcher.ends)


def test_a_backward_pass_without_a_step_inside_ends_none() -> None:
    """Gradients are accumulated over four passes."""
    watcher, optimizer = _Watcher(), _Optimizer()
    for index in range(160):
        watcher.passes.running = True
        if index % 4 == 3:
            watcher.after_optimizer(optimizer)
        watcher.passes.running = False
        watcher.after_backward(_at(0))
    assert len(watcher.ends) == 40


def test_an_optimizer_that_comes_rarely_does_not_make_steps_of_many() -> None:
    after = _Watcher().run(("A" * 100 + "B") * 3)
    assert (set(_apart(after)), len(after.ends)) == ({1, 2}, 300)
    # It may be the first to step, too: nothing is recorded before the loop shows.
    before = _Watcher().run(("B" + "A" * 100) * 3)
    assert len(before.ends) > 280
    assert before.turns.lead is OPTIMIZERS["A"]


def test_a_loop_of_one_optimizer_after_another_of_few_steps_is_the_one_recorded() -> None:
    watcher = _Watcher().run("AAAA" + "B" * 40)
    assert watcher.turns.lead is OPTIMIZERS["B"]
    # Those of the first loop, and of the second those until it is clear that the first is over, are none of its steps.
    assert (watcher.phase, watcher.course.steps) == ("profile", 40 - 9)


def test_a_recording_under_way_keeps_its_optimizer_while_another_has_a_run_of_its_own() -> None:
    watcher = _Watcher().run("A" * 12)
    for _ in range(40):
        watcher.after_optimizer(OPTIMIZERS["B"])
    assert (watcher.phase, watcher.turns.lead, watcher.course.steps) == ("profile", OPTIMIZERS["A"], 11)


@pytest.mark.parametrize(("recorded", "phase"), [(6, "settle"), (5, "skip")])
def test_a_recording_does_not_outlive_its_loop(recorded: int, phase: str) -> None:
    """The next fold's steps are none of it: it was left open to the end of the script, and grew by megabytes a second."""
    watcher = _Watcher().run("A" * (10 + 3 + recorded) + "B" * 9)
    assert (watcher.phase, watcher.turns.lead) == (phase, OPTIMIZERS["B"])
    elsewhere = _Watcher().run("A" * (10 + 3 + recorded))
    for _ in range(257):
        elsewhere.after_optimizer(OPTIMIZERS["B"])
    assert elsewhere.phase == phase


def test_folds_of_few_steps_are_one_loop_once_one_has_followed_another() -> None:
    watcher, folds = _Watcher(), [_Optimizer() for _ in range(6)]
    for fold in folds:
        for _ in range(12):
            watcher.after_optimizer(fold)
    # Of the second fold those that told that it follows are lost; from the third on each step counts.
    assert len(watcher.ends) == 12 + 3 + 4 * 12
    assert (len(watcher.profiled), watcher.turns.lead) == (24, folds[-1])


def test_fits_of_few_steps_are_one_loop_from_the_third_on() -> None:
    """Each model of a search is trained for seven steps: after a whole search nothing was recorded."""
    watcher, fits = _Watcher(), [_Optimizer() for _ in range(12)]
    for fit in fits:
        for _ in range(7):
            watcher.after_optimizer(fit)
    assert (len(watcher.ends), len(watcher.profiled)) == (7 + 10 * 7, 24)


@pytest.mark.parametrize(("elsewhere", "steps"), [(False, 11 + 32), (True, 11)])
def test_the_next_fold_goes_on_with_the_run_another_loop_does_not(elsewhere: bool, steps: int) -> None:
    """Each fold of a cross validation has an optimizer of its own, which steps at the same line; a later stage has another line."""
    watcher = _Watcher().run("A" * 12)
    watcher.profiler, watcher.phase = None, "done"
    if elsewhere:
        for _ in range(40):
            watcher.after_optimizer(OPTIMIZERS["B"])
    else:
        watcher.run("B" * 40)
    assert watcher.course.steps == steps


def test_several_optimizers_at_one_line_take_turns_and_none_follows_another() -> None:
    watcher = _Watcher().run("A" * 12)
    watcher.profiler, watcher.phase = None, "done"
    watcher.run("ABC" * 20)
    assert watcher.turns.lead is OPTIMIZERS["A"]


def test_the_stack_is_looked_at_where_other_programs_stretch_every_step() -> None:
    watcher = _Watcher()
    watcher.boundary("optimizer")
    waited = SimpleNamespace(so_far=0)
    watcher.course.waiting = SimpleNamespace(ns=lambda: waited.so_far)  # type: ignore[assignment]
    for _ in range(9):
        waited.so_far += 295_000_000
        watcher.end_step(0, 300_000_000)
        watcher.course.waited_at_ns = waited.so_far
    assert watcher.sampler.begun
