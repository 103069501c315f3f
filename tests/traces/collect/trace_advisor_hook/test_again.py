"""Which calls of modules compute what is known: those with the same arguments and the same result, and nothing that looks so."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from traces.collect.trace_advisor_hook.again.again import Again, hold
from traces.collect.trace_advisor_hook.again.follow import Follow, Repeat
from traces.collect.trace_advisor_hook.marks import scope
from traces.collect.trace_advisor_hook.marks.known_marks import OfModule
from traces.collect.trace_advisor_hook.marks.scope import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP
from traces.reader.names import again

Step = Callable[["Loop"], Any]
# Of the tests' loop: how each call is told.
Told = list[tuple[str, str, int]]


class Loop:
    """A trained layer, another that no optimizer has, a constant, and the batch of this step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.trained, self.frozen = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
        self.constant, self.batch = torch.randn(8, 4), torch.randn(8, 4)
        self.optimizer = torch.optim.SGD(self.trained.parameters(), 0.1)
        self.backward = False
        self.updated = {id(one) for one in self.trained.parameters()}

    def update(self) -> None:
        """Another step of the optimizer, inside one of the loop."""
        self.optimizer.step()

    def run_backward(self, loss: torch.Tensor) -> None:
        """As the watcher sees it."""
        self.backward = True
        loss.backward()
        self.backward = False


def repeats(step: Step, *, train: bool = True, steps: int = 3) -> tuple[Loop, list[Repeat]]:
    """What is found in steps that draw a batch, run this, take gradients of what it returns, and update the trained layer."""
    loop = Loop()
    follow = Follow(lambda: loop.backward, lambda: loop.updated, steps_train=train)
    follow.start()
    for _ in range(steps):
        loop.batch = torch.randn(8, 4)
        follow.after_batch((loop.batch, {"size": 8}))
        loss = step(loop)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loop.run_backward(loss)
        loop.optimizer.step()
        loop.optimizer.zero_grad()
        follow.next_step()
    follow.stop()
    return loop, follow.found()


def told(step: Step, *, train: bool = True) -> Told:
    return [(one.label, one.scope, one.calls) for one in repeats(step, train=train)[1]]


def frozen(loop: Loop, value: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return loop.frozen(value)


def noisy(loop: Loop) -> torch.Tensor:
    return loop.batch + torch.randn_like(loop.batch)


def in_place(loop: Loop) -> torch.Tensor:
    value = loop.batch.clone()
    with torch.no_grad():
        loop.trained(value)
        value.add_(1)
    return loop.trained(value).sum()


def updated_between(loop: Loop) -> torch.Tensor:
    loss = loop.trained(loop.batch).sum()
    loop.run_backward(loss)
    loop.update()
    return loop.trained(loop.batch).sum()


def averaged(loop: Loop) -> torch.Tensor:
    """What is not trained follows what is, as the average of a mean teacher does, past the counts of what is written to."""
    loss = loop.trained(loop.batch).sum() + frozen(loop, loop.constant).sum()
    for mine, theirs in zip(loop.frozen.parameters(), loop.trained.parameters(), strict=True):
        mine.data.mul_(0.999).add_(theirs.data, alpha=0.001)
    return loss


def dropping(loop: Loop, times: int) -> torch.Tensor:
    loop.frozen.train()
    return sum(frozen(loop, loop.batch).sum() for _ in range(times)) + loop.trained(loop.batch).sum()


def checkpointed(loop: Loop) -> torch.Tensor:
    return checkpoint(loop.trained, loop.batch.requires_grad_(), use_reentrant=False).sum()


class Counting(nn.Module):
    """Keeps a state of its own, as a cell that holds its potential does."""

    def __init__(self) -> None:
        super().__init__()
        self.state = 0

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        self.state += 1
        return value + self.state


COUNTING = Counting()
NORMALISING = nn.BatchNorm1d(4)


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (lambda loop: loop.trained(loop.batch).sum() + loop.trained(loop.batch).mean(), [("Linear", IN_STEP, 1)]),
        (lambda loop: sum(loop.trained(loop.batch).sum() for _ in range(5)), [("Linear", IN_STEP, 4)]),
        # By name, and what is inside a call that is known already is told with it.
        (lambda loop: loop.trained(frozen(loop, loop.batch) + frozen(loop, loop.batch)).sum(),
         [("Sequential", IN_EACH_EPOCH, 1), ("Sequential", IN_STEP, 1)]),
        (lambda loop: loop.trained(input=loop.batch).sum() + loop.trained(input=loop.batch).sum(), [("Linear", IN_STEP, 1)]),
        (lambda loop: loop.trained(loop.batch).sum() + loop.trained(loop.batch + 1).sum(), []),
        (in_place, []),
        (updated_between, []),
        (checkpointed, []),
        (lambda loop: sum(COUNTING(loop.batch).sum() for _ in range(3)) + loop.trained(loop.batch).sum(), []),
        (lambda loop: loop.trained(loop.batch).sum() + frozen(loop, loop.constant).sum(), [("Sequential", IN_EACH_STEP, 1)]),
        # What is trained gives another result in each step.
        (lambda loop: loop.trained(loop.constant).sum(), []),
        (averaged, []),
        (lambda loop: loop.trained(frozen(loop, loop.batch)).sum(), [("Sequential", IN_EACH_EPOCH, 1)]),
        # A teacher behind its student, which sees the same batch.
        (lambda loop: (loop.trained(loop.batch) - frozen(loop, loop.batch)).sum(), [("Sequential", IN_EACH_EPOCH, 1)]),
        # Whose dropout has drawn random numbers meanwhile.
        (lambda loop: (torch.dropout(loop.trained(loop.batch), 0.5, True) - frozen(loop, loop.batch)).sum(),
         [("Sequential", IN_EACH_EPOCH, 1)]),
        # What the batch is turned into first.
        (lambda loop: loop.trained(frozen(loop, loop.batch * 2)).sum(), [("Sequential", IN_EACH_EPOCH, 1)]),
        # And one that judges what the student made.
        (lambda loop: frozen(loop, loop.trained(loop.batch).detach()).sum() + loop.trained(loop.batch).sum(),
         [("Linear", IN_STEP, 1)]),
        (lambda loop: loop.trained(frozen(loop, noisy(loop))).sum(), []),
        (lambda loop: dropping(loop, 1), []),
        (lambda loop: dropping(loop, 2), []),
        (lambda loop: loop.trained(NORMALISING(loop.batch).detach()).sum(), []),
    ],
)  # fmt: skip
def test_what_is_known_is_found(step: Step, found: Told) -> None:
    assert sorted(told(step)) == found


def test_without_training_only_calls_of_one_step_count() -> None:
    def both(loop: Loop) -> None:
        frozen(loop, loop.constant)
        frozen(loop, loop.constant)

    assert told(both, train=False) == [("Sequential", IN_STEP, 1)]


def test_the_call_with_a_gradient_is_the_one_to_keep() -> None:
    def measured_first(loop: Loop) -> torch.Tensor:
        with torch.no_grad():
            loop.trained(loop.batch)
        return loop.trained(loop.batch).sum()

    (_, found), (_, twice) = (
        repeats(measured_first),
        repeats(lambda loop: (loop.trained(loop.batch) * loop.trained(loop.batch)).sum()),
    )
    assert [one.forward_only for one in found] == [True]
    assert [one.forward_only for one in twice] == [False]


def test_the_line_of_the_program_is_told() -> None:
    _, (found,) = repeats(lambda loop: (loop.trained(loop.batch) * loop.trained(loop.batch)).sum())
    assert found.line is not None
    assert found.line[0] == __file__


def test_two_steps_have_to_agree() -> None:
    seen = []

    def twice_at_times(loop: Loop) -> torch.Tensor:
        seen.append(loop)
        return sum(loop.trained(loop.batch).sum() for _ in range(2 if len(seen) < 3 else 1))

    assert told(twice_at_times) == []
    assert repeats(lambda loop: loop.trained(loop.batch).sum(), steps=2)[1] == []


def test_what_cannot_be_compared_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are shared out among ranks may not be looked at by one of them."""

    def refused(module: nn.Module) -> list[torch.Tensor]:
        raise RuntimeError

    monkeypatch.setattr("traces.collect.trace_advisor_hook.again.follow._weights", refused)
    assert told(lambda loop: loop.trained(loop.batch).sum() + loop.trained(loop.batch).mean()) == []
    assert told(lambda loop: loop.trained(frozen(loop, loop.batch)).sum()) == []


@pytest.mark.parametrize(("most", "found"), [(2, [("Linear", IN_STEP, 1)]), (1, None)])
def test_of_a_step_with_too_many_calls_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, most: int, found: Told | None
) -> None:
    """Of those beyond nobody has seen which come again."""
    monkeypatch.setattr("traces.collect.trace_advisor_hook.again.calls._MOST_CALLS", most)
    loop = Loop()
    look = Again(lambda: loop.backward, lambda: loop.updated)
    for number in range(1, 5):
        look.after_skipped(number, 10_000_000, skipping=10, steps_train=True)
        loop.batch = torch.randn(8, 4)
        for _ in range(2):
            loop.trained(loop.batch)
    rows = look.told()
    assert (None if rows is None else [(row["module"], row["scope"], row["calls"]) for row in rows]) == found


def marked(step: Step, steps: int = 3) -> list[str]:
    """Names of the ranges in steps that are recorded behind those that were looked at."""
    loop, found = repeats(step)
    held = hold(found, lambda: loop.backward)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(steps):
            loop.batch = torch.randn(8, 4)
            step(loop)
            for one in held:
                one.next_step()
    for one in held:
        one.end()
    return [event.name for event in profiler.events() if event.name.startswith(scope.PREFIX)]


@pytest.mark.parametrize(
    ("step", "names"),
    [
        (lambda loop: sum(loop.trained(loop.batch).sum() for _ in range(3)), ["Computed again in this step: Linear"] * 6),
        # The first of the recorded steps cannot tell that its input is that of the step before.
        (lambda loop: loop.trained(loop.batch).sum() + frozen(loop, loop.constant).sum(),
         ["Computed again in each step: Sequential"] * 2),
        (lambda loop: loop.trained(frozen(loop, loop.batch)).sum(), ["Computed again in each epoch: Sequential"] * 3),
    ],
)  # fmt: skip
def test_calls_are_marked_where_their_result_is_known(step: Step, names: list[str]) -> None:
    assert marked(step) == names


def test_a_module_may_be_copied_and_saved_while_it_is_marked() -> None:
    module = nn.Linear(4, 4)
    held = OfModule({IN_STEP: "Computed again in this step: Linear"}, lambda: False)
    held.hold(module)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    value = torch.randn(2, 4)
    for other in (copy.deepcopy(module), torch.load(file, weights_only=False)):
        assert torch.equal(other(value), module(value))
    held.end()
    assert len(module._forward_pre_hooks) == len(module._forward_hooks) == 0


def test_a_call_that_fails_leaves_nothing_open() -> None:
    module = nn.Linear(4, 4)
    held = OfModule({IN_EACH_EPOCH: "Computed again in each epoch: Linear"}, lambda: False)
    held.hold(module)
    with pytest.raises(RuntimeError):
        module(torch.randn(2, 5))
    assert held.open == []
    held.end()


def test_the_reader_knows_the_ranges_by_the_same_words() -> None:
    assert (scope.IN_STEP, scope.IN_EACH_STEP, scope.IN_EACH_EPOCH) == again.SCOPES
    for one in again.SCOPES:
        assert again.scope_and_module(scope.range_name(one, "net.fc: 1 (Linear)")) == (one, "net.fc: 1 (Linear)")
    assert again.scope_and_module("Computed again by hand: x") is None


@pytest.mark.parametrize(("step_ns", "marked"), [(3_000_000, True), (1_900_000, False)])
def test_what_would_take_long_to_mark_is_told_and_not_marked(step_ns: int, *, marked: bool) -> None:
    """Two more calls a step of 20 us each: two hundredths of 2 ms."""
    loop = Loop()
    look = Again(lambda: loop.backward, lambda: loop.updated)
    for number in range(1, 5):
        look.after_skipped(number, step_ns, skipping=10, steps_train=True)
        loop.batch = torch.randn(8, 4)
        for _ in range(3):
            loop.trained(loop.batch)
    assert [(row["calls"], row["marked"]) for row in look.told() or ()] == [(2, marked)]
    held = look.marks()
    assert len(held) == marked
    for one in held:
        one.end()


@pytest.mark.parametrize("skipping", [4, 5])
def test_loops_that_are_recorded_at_once_are_not_looked_at(skipping: int) -> None:
    loop = Loop()
    look = Again(lambda: loop.backward, lambda: loop.updated)
    for number in range(1, 5):
        look.after_skipped(number, 10_000_000, skipping=skipping, steps_train=True)
        loop.trained(loop.batch)
    assert (look.told() is None) is (skipping == 4)
