"""What a batch from a worker would cost, measured where there is none."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from traces.collect.output.hand_over import hand_over, time_hand_over


def test_a_file_is_handed_over_and_nothing_stays() -> None:
    if sys.platform != "linux":
        pytest.skip("torch hands over no files here")
    before = threading.active_count()
    row = time_hand_over()
    assert row is not None
    assert 0 < row["lower_quartile_ns"] < 1_000_000_000
    assert threading.active_count() == before


@pytest.mark.parametrize("loader", [None, 7, {}, {"num_workers": 2}])
def test_not_where_workers_show_it_themselves(loader: Any) -> None:
    assert hand_over({"loader": loader}) == {}


def test_where_training_makes_its_batches() -> None:
    assert set(hand_over({"loader": {"num_workers": 0}})) == {"hand_over"}


def test_a_system_that_hands_over_nothing_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert time_hand_over() is None
