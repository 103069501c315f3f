"""The stages of the analysis as they are drawn."""

from __future__ import annotations

import pytest

from analyzer.tui.look.glyphs import UNICODE
from analyzer.tui.widgets.progress import Stage, bar, stages, times
from analyzer.tui.work.footprint import peak_memory_bytes

NOW = UNICODE.current


def drawn(known: dict[str, Stage], current: str) -> list[str]:
    return [line.plain for line in stages(known, current, UNICODE)]


def test_stages_done_current_and_to_come() -> None:
    assert drawn({}, "") == [f"{NOW} reading", "  measuring", "  checking"]
    known = {"reading": Stage(5, 354_000_000), "measuring": Stage(0, 1)}
    assert drawn(known, "measuring") == ["✓ reading  338 MiB", f"{NOW} measuring", "  checking"]
    known |= {"checking": Stage(0, 71), "comparing": Stage(0, 1)}
    assert drawn(known, "comparing")[2:] == ["✓ checking  71", f"{NOW} comparing"]


def test_a_second_rank_goes_through_the_same_stages() -> None:
    known = {"reading": Stage(0, 0), "measuring": Stage(0, 1), "checking": Stage(71, 71)}
    assert drawn(known, "measuring") == ["✓ reading", f"{NOW} measuring", "✓ checking  71"]


@pytest.mark.parametrize(
    ("stage", "seconds", "inside", "text"),
    [
        (Stage(0, 0), 7, 7, "7 s so far."),
        (Stage(50, 100), 1, 1, "1 s so far."),
        (Stage(5, 100), 9, 9, "9 s so far."),
        (Stage(25, 100), 12, 4, "12 s so far, about 12 s left in this stage."),
        (Stage(100, 100), 12, 4, "12 s so far."),
    ],
)
def test_what_is_left_is_said_once_it_can_be_foreseen(stage: Stage, seconds: float, inside: float, text: str) -> None:
    assert times(stage, seconds, inside) == text


@pytest.mark.parametrize("width", [1, 6, 7, 40])
@pytest.mark.parametrize("stage", [Stage(), Stage(1, 3), Stage(9, 3)])
def test_the_bar_is_as_wide_as_there_is_room(stage: Stage, width: int) -> None:
    assert bar(stage, width, UNICODE).cell_length == max(width, 6)


def test_this_process_takes_some_memory() -> None:
    peak = peak_memory_bytes()
    assert peak is None or 5 << 20 < peak < 1 << 40
