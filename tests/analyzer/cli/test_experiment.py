"""The words of `advisor experiment`: how far repeats lie apart, and what one is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli.commands.experiment import chart, row
from analyzer.report.style import Style
from analyzer.report.text.intervals import Timed, intervals
from traces.collect.experiment import MethodResult

SECOND = 1_000_000_000
PLAIN = Style(width=84, color=False, unicode=True)


def result(*seconds: float) -> MethodResult:
    times = tuple(round(one * SECOND) for one in seconds)
    return MethodResult("standard", "Standard loop", times, 1, (0.5,) * len(times), (0.9,) * len(times), Path("t.json"))


def test_one_repeat_has_no_spread_and_proves_nothing():
    once, thrice = result(2.0), result(1.9, 2.0, 2.1)
    assert " - " in row(once, once)
    assert " 5% " in row(thrice, thrice)
    assert "none of these differences is proven" in " ".join(chart([], 1))
    assert "proven" not in " ".join(chart([], 3))


def test_repeats_that_lie_among_one_another_prove_nothing():
    standard = Timed("standard", (30, 36, 40), 36)
    told = " ".join(chart([standard, Timed("near", (25, 28, 30), 28), Timed("far", (10, 12, 29), 12)], 3))
    assert "a mark at the median" in told
    assert told.rstrip().endswith("not proven, as their repeats lie among those of the standard loop: near")
    assert "not proven" not in " ".join(chart([standard, Timed("far", (10, 12, 29), 12)], 3))


def drawn(*rows: Timed, style: Style = PLAIN) -> list[str]:
    return [line[33:].rsplit(" ", 2)[0] for line in intervals(rows, style)]


def test_the_interval_reaches_from_the_fastest_to_the_slowest_repeat():
    slow, fast = drawn(Timed("slow", (30, 36, 40), 36), Timed("fast", (10, 10, 20), 10))
    # 41 columns are the longest repeat.
    assert (slow.index("├"), slow.index("┼"), slow.index("┤")) == (30, 36, 40)
    assert slow[:30] == "█" * 30
    assert (fast.index("┼"), fast.index("┤")) == (10, 20)


def test_without_repeats_there_is_a_bar_alone():
    slow, fast = drawn(Timed("slow", (40,), 40), Timed("fast", (20,), 20))
    assert slow == "█" * 40
    assert fast == "█" * 20


@pytest.mark.parametrize("unicode", [True, False])
def test_a_terminal_without_unicode_gets_other_signs(unicode):
    (bar,) = drawn(Timed("slow", (30, 36, 40), 36), style=Style(width=84, color=False, unicode=unicode))
    assert bar.isascii() is not unicode


def test_where_there_is_no_room_nothing_is_drawn():
    assert drawn(Timed("slow", (40,), 40), style=Style(width=40, color=False, unicode=True)) == []
