"""Changes that helped are tried together, and each is worth what the step would take longer without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from analyzer.tune.combining import combine
from analyzer.tune.noise import Gain
from analyzer.tune.trying import Reference, Trying


class Played:
    """Measures what it is told: the gain of each set of changes against its reference, by their names."""

    def __init__(self, **gains: float) -> None:
        self.gains = gains
        self.asked: list[str] = []

    def in_turns(self, changes: dict[str, Any], reference: Reference, noise: float, *, name: str) -> Any:
        self.asked.append(name)
        ratio = self.gains["_".join(changes)]
        gain = Gain(ratio, ratio - 0.01, ratio + 0.01)
        return SimpleNamespace(gain=gain, failed=None, loss=SimpleNamespace(rejected=""), runs=[], start_ns=None)

    def tell(self, said: object) -> None:
        """Nobody listens."""


def helped(name: str, ratio: float, group: str = "") -> Any:
    """A candidate that helped by so much."""
    trial = SimpleNamespace(
        measured_ratio=ratio, low_ratio=ratio - 0.01, high_ratio=ratio + 0.01, step_ns=1_000, setup_ns=None, pays_after_steps=None
    )  # fmt: skip
    return SimpleNamespace(change=SimpleNamespace(name=name, group=group)), {name: True}, trial


def combined(played: Played, *helping: Any) -> Any:
    """What is recommended of changes that helped."""
    return combine(cast("Trying", played), Reference({}, []), helping, 0.02)


def test_each_carries_what_the_step_takes_longer_without_it() -> None:
    # Without `a` a step takes twice as long as with both, without `b` a quarter longer.
    played = Played(a_b=0.6, b=-1.0, a=-0.25)
    found = combined(played, helped("b", 0.2), helped("a", 0.5))
    assert played.asked == ["together", "without b", "without a"]
    assert found.gain.ratio == 0.6
    assert {name: gain.ratio for name, gain in found.carries.items()} == pytest.approx({"a": 0.5, "b": 0.2})
    # The ends change places: the longer a step without it may be, the more it brings.
    assert found.carries["a"].low == pytest.approx(1 - 1 / 1.99)
    assert found.carries["a"].high == pytest.approx(1 - 1 / 2.01)
    assert found.dropped == {}


def test_what_brings_nothing_beside_the_others_is_left_out() -> None:
    found = combined(Played(a_b=0.5, a=0.0), helped("a", 0.5), helped("b", 0.2))
    assert found.changes == {"a": True}
    assert found.dropped == {"b": "beside the others it brings nothing"}


def test_of_one_kind_the_one_that_helps_most_stands_alone() -> None:
    played = Played()
    found = combined(played, helped("a", 0.3, "memory"), helped("b", 0.5, "memory"))
    assert (found.changes, found.gain.ratio) == ({"b": True}, 0.5)
    assert found.dropped == {"a": "another change of its kind helps more"}
    assert played.asked == []
    assert combined(played) is None
