"""Run lengths of repeated units."""

from __future__ import annotations

import numpy as np

from analyzer.facts.repeats import canonical, repeated_runs


def found(text: str, groups: str | None = None, min_repeats: int = 3) -> list[tuple[int, int, int]]:
    codes = np.array([ord(letter) for letter in text], dtype=np.int64)
    group = np.array([ord(letter) for letter in groups or "x" * len(text)], dtype=np.int64)
    runs = repeated_runs(codes, group, min_repeats=min_repeats)
    return [tuple(row) for row in runs.to_numpy().tolist()]


def test_the_shortest_unit_wins() -> None:
    assert found("xaaaay") == [(1, 1, 4)]
    assert found("xababababy") == [(1, 2, 4)]
    assert found("abcabcabcabcd") == [(0, 3, 4)]


def test_inner_repetition_belongs_to_the_longer_unit() -> None:
    assert found("aabaabaabaab") == [(0, 3, 4)]


def test_runs_do_not_cross_groups() -> None:
    assert found("aaaaaa", "xxxyyy", min_repeats=4) == []
    assert found("aaaaaa", "xxxyyy") == [(0, 1, 3), (3, 1, 3)]


def test_only_whole_units_count() -> None:
    assert found("abababa") == [(0, 2, 3)]
    assert found("ababa") == []


def test_nothing_repeats() -> None:
    assert found("") == []
    assert found("a") == []
    assert found("abcdefgh") == []


def test_a_unit_is_the_same_wherever_it_begins() -> None:
    assert canonical((2, 1, 3)) == canonical((3, 2, 1)) == canonical((1, 3, 2))
