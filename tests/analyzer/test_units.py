"""Numbers as people read them."""

from __future__ import annotations

import pytest

from analyzer.units import change, count, duration, figure, share, size, slower, stretch


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (80, "80 ns"),
        (999, "999 ns"),
        (1_000, "1.0 us"),
        (12_000, "12 us"),
        (999_600, "1.0 ms"),
        (9_960_000, "10 ms"),
        (7_400_000, "7.4 ms"),
        (41_200_000, "41 ms"),
        (412_000_000, "412 ms"),
        (1_234_000_000, "1.2 s"),
        (5_000_000_000_000, "5,000 s"),
        (-7_400_000, "-7.4 ms"),
    ],
)
def test_duration(ns: float, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0 %"),
        (0.0001, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.034, "3.4 %"),
        (0.0995, "10 %"),
        (0.341, "34 %"),
        (1, "100 %"),
    ],
)
def test_share(ratio: float, text: str) -> None:
    assert share(ratio) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 B"), (512, "512 B"), (1536, "1.5 MiB"), (3 << 30, "3.0 GiB"), (5 << 40, "5.0 TiB"), (20 << 20, "20 MiB")],
)
def test_size(amount: float, text: str) -> None:
    assert size(amount * 1024 if amount == 1536 else amount) == text


def test_count() -> None:
    assert [count(1, "step"), count(6, "step"), count(0, "step"), count(1_200, "query", "queries")] == [
        "1 step",
        "6 steps",
        "0 steps",
        "1,200 queries",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_200, "1,200"),
        (2.0, "2"),
        (150.7, "151"),
        (9.96, "10"),
        (9.3, "9.3"),
        (0.96, "1.0"),
        (0.5, "0.5"),
        (0.054, "0.054"),
        (0, "0"),
        (-3.25, "-3.2"),
    ],
)
def test_figure(value: float, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (0, 41_000_000, "0 ns to 41 ms"),
        (20_000_000, 41_000_000, "20 ms to 41 ms"),
        (76_000_000, 76_200_000, "76.00-76.20 ms (200 us)"),
        (1_234_567_000, 1_234_568_000, "1.2345670-1.2345680 s (1.0 us)"),
        (999_000, 999_500, "999.00-999.50 us (500 ns)"),
        (900, 950, "900-950 ns (50 ns)"),
        (5, 5, "5 ns to 5 ns"),
    ],
)
def test_the_edges_of_a_stretch_can_be_told_apart(start: int, end: int, words: str) -> None:
    assert stretch(start, end) == words


@pytest.mark.parametrize(
    ("ratio", "changed", "longer"),
    [
        (0.123, "+12.3 %", "12.3 % slower"), (-0.04, "-4.0 %", None), (1.0, "+100.0 %", "100.0 % slower"),
        (3.9, "+390.0 %", "390.0 % slower"), (4.0, "a factor of 5", "5 times as long"),
        (49.63, "a factor of 51", "51 times as long"),
    ],
)  # fmt: skip
def test_of_many_times_no_percentage_is_said(ratio: float, changed: str, longer: str | None) -> None:
    assert change(ratio) == changed
    if longer is not None:
        assert slower(ratio) == longer
