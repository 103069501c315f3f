"""Whose method a frame runs: an environment's by what its class has, and no object of the module is asked anything."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from traces.collect.trace_advisor_hook.sampling.environments import Environments


class Grid:
    """An environment without a library."""

    def __init__(self) -> None:
        self.n_actions = 4

    def reset(self) -> int:
        return 0

    def step(self, action: int) -> FrameType:
        return sys._getframe()


class Optimizer:
    """Steps as well, and resets nothing."""

    def step(self, action: int) -> FrameType:
        return sys._getframe()


class Touchy:
    """As torch.distributed's `reduce_op`: warns, or fails, whoever asks it for its class."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize(("made", "acts"), [(Grid(), True), (Optimizer(), False)])
def test_an_environment_is_told_by_its_class(made: Any, *, acts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = made.step(1)
    monkeypatch.setitem(frame.f_globals, "A_TOUCHY", Touchy())
    assert Environments().holds(frame) is acts
