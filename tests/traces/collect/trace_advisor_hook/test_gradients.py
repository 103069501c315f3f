"""Steps of programs that ask for gradients and update by hand, without `backward` and without an optimizer."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("torch")

import torch

from traces.collect.trace_advisor_hook import wrapping
from traces.collect.trace_advisor_hook.steps.backward_passes import WITHOUT_OPTIMIZER
from traces.collect.trace_advisor_hook.watcher import Watcher

SETTINGS = {"wait": 10, "warmup": 3, "least": 6, "most": 24, "long_ns": 10**12, "stacks": False, "shapes": False}


class _Watcher(Watcher):
    """Without a profiler; counts the steps that ended."""

    def __init__(self) -> None:
        self.ends = 0
        super().__init__(SETTINGS)

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        self.profiler = MagicMock()

    def tell(self) -> None:
        """Nobody listens."""

    def boundary(self, source: str) -> None:
        assert source == "backward"
        self.ends += 1


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> _Watcher:
    monkeypatch.setattr(torch.autograd, "grad", torch.autograd.grad)
    monkeypatch.setattr(torch.autograd, "backward", torch.autograd.backward)
    watcher = _Watcher()
    wrapping._wrap_backward(watcher)
    return watcher


def _weight() -> Any:
    return torch.ones(3, requires_grad=True)


def test_gradients_that_are_asked_for_end_steps(watched: _Watcher) -> None:
    weight = _weight()
    for _ in range(WITHOUT_OPTIMIZER + 10):
        (gradient,) = torch.autograd.grad(weight.square().sum(), weight)
        weight = (weight - 0.1 * gradient).detach().requires_grad_()
    assert watched.ends == 10


def test_of_a_step_with_a_penalty_and_a_backward_pass_the_backward_pass_leads(watched: _Watcher) -> None:
    weight = _weight()
    for _ in range(WITHOUT_OPTIMIZER + 10):
        loss = weight.square().sum()
        for _ in range(3):
            (gradient,) = torch.autograd.grad(loss, weight, create_graph=True)
        (loss + gradient.square().sum()).backward()
    assert watched.ends == 10


def test_rows_of_a_jacobian_are_no_steps(watched: _Watcher) -> None:
    for _ in range(WITHOUT_OPTIMIZER):
        torch.autograd.functional.jacobian(lambda weight: weight.square(), torch.ones(3))
    assert (watched.ends, watched.passes.of_lead) == (0, 0)


@pytest.mark.parametrize("nested", [False, True])
def test_gradients_of_a_function_end_steps_those_inside_them_do_not(watched: _Watcher, nested: bool) -> None:
    """A program without optimizer, `.grad` or backward pass: parameters in a dict, updated by hand."""

    def penalised(weight: torch.Tensor) -> torch.Tensor:
        loss = weight.square().sum()
        return loss + torch.func.grad(lambda one: one.pow(3).sum())(weight).square().sum() if nested else loss

    weight = torch.ones(3)
    for _ in range(WITHOUT_OPTIMIZER + 10):
        weight = weight - 0.01 * torch.func.grad(penalised)(weight)
    assert watched.ends == 10


def test_a_second_derivative_is_asked_for_in_one_call(watched: _Watcher) -> None:
    for _ in range(WITHOUT_OPTIMIZER):
        torch.func.grad(torch.func.grad(lambda one: one.pow(3)))(torch.tensor(2.0))
    assert watched.passes.of_lead == WITHOUT_OPTIMIZER


def test_what_is_asked_for_is_handed_back(watched: _Watcher) -> None:
    weight = _weight()
    (gradient,) = torch.autograd.grad(weight.square().sum(), weight)
    assert gradient.tolist() == [2.0, 2.0, 2.0]
    assert watched.counts["backward"] == 1


def test_every_backward_pass_counts_though_an_optimizer_leads(watched: _Watcher) -> None:
    """What is said of a script that ended too early: three steps with one backward pass were none of it."""
    for _ in range(3):
        watched.turns.lead = watched.turns.lead or object()
        _weight().square().sum().backward()
    assert (watched.counts["backward"], watched.ends) == (3, 0)
