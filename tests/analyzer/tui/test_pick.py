from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer.tui.look.terminal import look_for
from analyzer.tui.pick import PickApp, age, describe
from showing.ui import text_of

LOOK = look_for({}, "utf-8", "truecolor")


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("one.json", "[two] \x1b[31m.json", "three.json")]
    for number, path in enumerate(paths):
        path.write_text("{}")
        os.utime(path, (1_000 - number, 1_000 - number))
    return paths


@pytest.mark.parametrize(("keys", "chosen"), [(("enter",), 0), (("j", "enter"), 1), (("j", "j", "k", "enter"), 1)])
async def test_the_trace_under_the_cursor_is_opened(traces: list[Path], keys: tuple[str, ...], chosen: int) -> None:
    app = PickApp(traces, LOOK)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
    assert app.return_value == traces[chosen]


async def test_each_trace_has_one_line_and_the_folder_is_named_once(traces: list[Path]) -> None:
    app = PickApp(traces, LOOK)
    async with app.run_test(size=(60, 14)) as pilot:
        await pilot.pause()
        shown = text_of(pilot.app)
        lines = shown.split("\n")
        assert "three.json" in lines[3]
        assert "Which trace of " in lines[0]
        assert shown.count(traces[0].parent.name[:5]) <= 1


@pytest.mark.parametrize("key", ["q", "escape"])
async def test_nothing_is_opened_on_request(traces: list[Path], key: str) -> None:
    app = PickApp(traces, LOOK)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press(key)
    assert app.return_value is None


def test_a_trace_is_described_by_age_and_size_and_a_lost_one_says_so(traces: list[Path]) -> None:
    shown = describe(traces[1], 1_000 + 7_200).plain
    assert "2 h ago" in shown
    assert "2 B" in shown
    assert "\x1b" not in shown
    traces[0].unlink()
    assert "gone" in describe(traces[0], 0).plain


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "just now"), (90, "1 min ago"), (4_000, "1 h ago"), (9e5, "10 d ago")]
)
def test_age(seconds: float, words: str) -> None:
    assert age(seconds) == words
