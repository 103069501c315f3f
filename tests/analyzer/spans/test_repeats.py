"""Run lengths of repeated units."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.spans.repeats import canonical, repeated_runs, shorter_runs, varying_runs


def found(text: str, groups: str | None = None, min_repeats: int = 3) -> list[tuple[int, int, int]]:
    codes = np.array([ord(letter) for letter in text], dtype=np.int64)
    group = np.array([ord(letter) for letter in groups or "x" * len(text)], dtype=np.int64)
    runs = repeated_runs(codes, group, min_repeats=min_repeats)
    return list(zip(runs.first.tolist(), runs.period.tolist(), runs.repeats.tolist(), strict=True))


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


def varying(text: str, group: str | None = None) -> list[tuple[int, int, int, str]]:
    """Runs in a text, whose turns begin with `s`: (first, length, turns, commonest turn)."""
    codes = np.array([ord(letter) for letter in text], dtype=np.int64)
    groups = np.array([ord(letter) for letter in group or "a" * len(text)], dtype=np.int64)
    found = varying_runs(codes, groups, codes == ord("s"), min_repeats=20)
    columns = (found.first, found.length, found.repeats, found.shown, found.period)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(first, length, turns, text[shown : shown + period]) for first, length, turns, shown, period in rows]


def test_turns_with_a_branch_are_one_run() -> None:
    text = "xy" + "sab" * 5 + "sabc" * 2 + ("sab" * 2 + "sabc") * 8 + "s"
    ((first, length, turns, shown),) = varying(text)
    assert (first, first + length, turns, shown) == (2, len(text) - 1, 31, "sab")


def test_turns_of_many_kinds_are_no_loop() -> None:
    assert varying("".join("s" + chr(ord("a") + index) for index in range(24)) + "s") == []


def test_a_turn_too_long_or_in_another_group_ends_the_run() -> None:
    assert varying("sab" * 12 + "s" + "z" * 20 + "sabc" * 12 + "s") == []
    assert varying("sab" * 12 + "sabc" * 12 + "s", "a" * 36 + "b" * 49) == []
    assert [turns for _, _, turns, _ in varying("sab" * 12 + "sabc" * 12 + "s")] == [24]


def test_without_beginnings_there_are_no_turns() -> None:
    assert varying("abcabc") == []
    assert varying("") == []


def shorter(text: str, group: str | None = None) -> list[tuple[int, int, int]]:
    """Runs of fewer than ten turns beside longer ones of the same unit: (first, period, repeats)."""
    codes = np.array([ord(letter) for letter in text], dtype=np.int64)
    groups = np.array([ord(letter) for letter in group or "a" * len(text)], dtype=np.int64)
    runs = repeated_runs(codes, groups, min_repeats=10)
    found = shorter_runs(codes, groups, runs, min_repeats=10)
    return list(zip(found.first.tolist(), found.period.tolist(), found.repeats.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("abc" * 12 + "x" + "abc" * 4, [(37, 3, 4)]),
        ("abc" * 4 + "x" + "abc" * 12, [(0, 3, 4)]),
        ("abc" * 12 + "xyzxyz" + "abc" * 4, []),
        ("abc" * 12 + "x" + "abd" * 4, []),
        ("abc" * 12 + "x" + "abc", []),
        ("abc" * 4 + "x" + "abc" * 4, []),
        ("", []),
    ],
    ids=["the last row", "the first row", "far away", "another unit", "one turn", "no long row", "nothing"],
)
def test_a_short_row_beside_a_long_one_of_its_unit_is_found(text: str, rows: list[tuple[int, int, int]]) -> None:
    assert shorter(text) == rows


def test_a_short_row_in_another_group_is_another_loop() -> None:
    assert shorter("abc" * 12 + "abc" * 4, "a" * 36 + "b" * 12) == []
