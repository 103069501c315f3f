"""The reference loop is not charged with passes of the garbage collector over what recording imports."""

from __future__ import annotations

import gc

import pytest

from traces.collect.recorder.own_heap import own_heap_left_alone


class Cycle:
    """Something only the garbage collector frees."""

    def __init__(self) -> None:
        self.me = self


def test_what_was_there_before_is_not_looked_at() -> None:
    there = [Cycle() for _ in range(1000)]
    with own_heap_left_alone():
        assert gc.get_freeze_count() > len(there)
        assert not any(found is there[0] for found in gc.get_objects())
    assert gc.get_freeze_count() == 0
    assert any(found is there[0] for found in gc.get_objects())


def test_what_is_made_inside_is_collected_as_ever() -> None:
    with own_heap_left_alone():
        Cycle()
        assert gc.collect() >= 1


def test_an_error_leaves_nothing_frozen() -> None:
    with pytest.raises(RuntimeError, match="inside"), own_heap_left_alone():
        raise RuntimeError("inside")
    assert gc.get_freeze_count() == 0
