"""Which step a moment lies in: half-open steps, gaps between them, none at all, and what lies outside."""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.index import position_of, slices

START = np.array([10, 20, 40])
END = np.array([20, 30, 50])


def test_a_moment_is_in_the_step_that_begins_with_it_and_not_in_the_one_that_ends() -> None:
    at = np.array([9, 10, 19, 20, 29, 30, 39, 40, 50])
    assert position_of(at, START, END).tolist() == [-1, 0, 0, 1, 1, -1, -1, 2, -1]


def test_moments_may_come_in_any_order() -> None:
    assert position_of(np.array([45, 12, 60, 22]), START, END).tolist() == [2, 0, -1, 1]


def test_without_steps_a_moment_is_in_none() -> None:
    none = np.empty(0, dtype=np.int64)
    assert position_of(np.array([1, 2]), none, none).tolist() == [-1, -1]


def test_slices_hold_what_positions_say() -> None:
    at = np.sort(np.random.default_rng(0).integers(0, 60, 500))
    first, beyond = slices(at, START, END)
    where = position_of(at, START, END)
    assert [np.flatnonzero(where == step).tolist() for step in range(3)] == [
        list(range(low, high)) for low, high in zip(first.tolist(), beyond.tolist(), strict=True)
    ]
