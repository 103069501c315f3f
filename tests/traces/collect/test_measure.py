"""What the machine achieves at best, where other programs take its cores now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

from traces.collect.calibrate import measure  # noqa: E402


def work(seconds: Iterator[float], amount: float = 1.0) -> Callable[[], float]:
    """So many operations that take as long as the next of these says."""

    def once() -> float:
        time.sleep(next(seconds))
        return amount

    return once


def endless(*first: float, then: float) -> Iterator[float]:
    yield from first
    while True:
        yield then


def test_one_disturbed_probe_does_not_choose_a_smaller_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """As large ones come closest to what the units can do, a smaller one would measure less than there is."""
    taken = endless(0.1, 0.1, then=0.0)
    monkeypatch.setattr(measure, "_product", lambda *_: work(taken, 2.0 * 128**3))
    assert measure._fitting(1024, torch.float32, "cpu", 2.0) == 1024


def test_what_does_not_agree_with_itself_is_measured_for_longer_and_the_best_counts() -> None:
    """The first turn alone runs undisturbed."""
    turns = 0

    class Disturbed(measure.Best):
        def turn(self, device: str, budget_s: float) -> None:
            nonlocal turns
            turns += 1
            self._turns.append(10.0 if turns == 1 else 5.0)

    calm = measure.Best(work(endless(then=0.001)))
    rates, unsettled = measure.measured({"fp32": [Disturbed(lambda: 1.0)], "copy": [calm]}, "cpu", 0.05)
    assert rates["fp32"] == 10.0
    assert "fp32" in unsettled
    assert turns == measure._MOST_TURNS


def test_the_best_of_two_sizes_counts_and_only_it_has_to_settle() -> None:
    class Told(measure.Best):
        def __init__(self, *rates: float) -> None:
            super().__init__(lambda: 1.0)
            self.told = iter(rates)

        def turn(self, device: str, budget_s: float) -> None:
            self._turns.append(next(self.told))

    rates, unsettled = measure.measured({"fp32": [Told(9.0, 1.0, 9.0, 1.0), Told(20.0, 19.0, 20.0, 19.0)]}, "cpu", 0.0)
    assert (rates, unsettled) == ({"fp32": 20.0}, [])
