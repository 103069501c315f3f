"""The line of keys, and tables that fill while one reads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from analyzer.explain import Explained
from analyzer.tui.app import AdvisorApp
from analyzer.tui.look.ascii import to_ascii
from analyzer.tui.look.terminal import look_for
from analyzer.tui.screens.help import HelpScreen
from analyzer.tui.widgets.allocation_table import AllocationTable
from analyzer.tui.widgets.check_table import CheckTable
from analyzer.tui.widgets.filling_table import PAUSE_SECONDS, FillingTable
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.operator_table import OperatorTable, columns_for
from analyzer.views.operator_rows import OperatorRow
from showing import analyses
from showing.ui import running, settle, text_of

MakeApp = Callable[..., AdvisorApp]


async def test_a_click_on_a_key_does_what_the_key_does(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        bar = pilot.app.screen.query_one(KeyBar)
        before = 0
        for key in bar.shown:
            if key.word == "Help":
                break
            before += key.width
        await pilot.hover(KeyBar, offset=(before + 1, 0))
        assert bar.tooltip == "All keys"
        await pilot.click(KeyBar, offset=(before + 1, 0))
        assert isinstance(pilot.app.screen, HelpScreen)


async def test_the_keys_are_those_of_the_pane_in_use(app_for: MakeApp, measured: Explained) -> None:
    async with running(app_for(measured), (120, 30)) as pilot:
        shown = {}
        for key in ("1", "2", "3", "5"):
            await pilot.press(key)
            await settle(pilot)
            shown[key] = [one.word for one in pilot.app.screen.query_one(KeyBar).shown]
        assert shown["1"] == ["Filter", "Copy fix", "Timeline", "Export", "Help", "Quit", "palette"]
        assert shown["2"] == ["Look", "Zoom", "Next", "Finding", "Help", "Quit", "palette"]
        assert "Group by" in shown["3"]
        assert shown["5"][0] == "Rule page"


@pytest.mark.parametrize(("width", "words"), [(20, ["Help", "Quit"]), (40, ["Filter", "Copy fix", "Help", "Quit"])])
async def test_help_and_quit_stay_where_there_is_little_room(app_for: MakeApp, width: int, words: list[str]) -> None:
    async with running(app_for(analyses.example()), (width, 12)) as pilot:
        bar = pilot.app.screen.query_one(KeyBar)
        assert [key.word for key in bar.shown if key.word in ("Filter", "Copy fix", "Help", "Quit")] == words
        assert bar.render().cell_length <= width


async def test_a_long_table_begins_at_once_and_becomes_whole(app_for: MakeApp, measured: Explained) -> None:
    async with running(app_for(measured)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        table = pilot.app.screen.query_one(OperatorTable)
        assert table.row is not None
        many = [replace(table.row, name=f"op {number}") for number in range(400)]
        table.show(many, columns_for(120, device=True, host=True, tensor=True), group="op")
        assert table.size.height < table.row_count < 400
        assert table.row.name == "op 0"
        while table.row_count < 400:
            await pilot.pause(0.01)
        assert table.row_count == 400


async def test_the_last_row_and_another_filling_do_not_wait(app_for: MakeApp, measured: Explained) -> None:
    async with running(app_for(measured)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        table = pilot.app.screen.query_one(OperatorTable)
        assert table.row is not None
        columns = columns_for(120, device=True, host=True, tensor=True)

        def named(word: str) -> list[OperatorRow]:
            assert table.row is not None
            return [replace(table.row, name=f"{word} {number}") for number in range(300)]

        table.show(named("old"), columns, group="op")
        table.show(named("new"), columns, group="op")
        table.action_scroll_bottom()
        assert table.row_count == 300
        assert table.row.name == "new 299"
        # Longer than it takes until more rows come.
        await pilot.pause(5 * PAUSE_SECONDS)
        assert table.row_count == 300


async def test_a_found_check_has_the_sign_of_its_worst_finding(app_for: MakeApp) -> None:
    document = analyses.example()
    async with running(app_for(document)) as pilot:
        await pilot.press("5")
        await settle(pilot)
        table = pilot.app.screen.query_one(CheckTable)
        rows = (str(table.get_row_at(row)[0]).split() for row in range(table.row_count))
        signs = {rule: sign for sign, rule, *_ in rows}
        marks = {"high": "▲", "medium": "■", "low": "●", "info": "○"}
        for finding in document.findings:
            assert signs[finding.rule] == marks[finding.severity]


async def test_without_unicode_and_colour_every_frame_is_drawn_and_the_focus_is_seen(
    app_for: MakeApp, measured: Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_for(measured, look_for({"NO_COLOR": "1"}, "ascii", "truecolor"))
    async with running(app, (80, 24)) as pilot:
        for key in ("1", "2", "3", "4", "5", "question_mark"):
            await pilot.press(key)
            await settle(pilot)
            shown = text_of(app)
            assert shown.isascii()
            assert "??" not in shown
            assert "===" in shown or key == "question_mark", shown


def test_every_border_has_an_ascii_form() -> None:
    assert to_ascii("╭─╮│┏━┓┃▁▐") == "+-+|===#_|"


async def test_the_rows_of_the_list_are_one_widget_each(app_for: MakeApp) -> None:
    """Styling costs a fraction of a millisecond a widget at each key: the answer within 50 ms rests on it."""
    async with running(app_for(analyses.example())) as pilot:
        rows = pilot.app.screen.query_one(FindingList).children
        assert rows
        assert not any(row.children for row in rows)


def test_escape_is_not_waited_for_and_the_first_screen_needs_no_pandas() -> None:
    program = (
        "import analyzer.tui.app, textual.constants as c, sys;"
        "print(c.ESCAPE_DELAY <= 0.03, sorted({'pandas', 'numpy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split(maxsplit=1) == ["True", "[]\n"]


@pytest.mark.parametrize(("width", "seen"), [(80, False), (120, True)])
async def test_a_remark_beside_the_headline_is_whole_or_not_there(app_for: MakeApp, width: int, seen: bool) -> None:
    async with running(app_for(analyses.example()), (width, 30)) as pilot:
        title = text_of(pilot.app).splitlines()[0]
        assert ("(388 ms unprofiled)" in title) is seen
        assert "(388" not in title.replace("(388 ms unprofiled)", "")


async def test_tabs_have_their_words_again_in_a_wider_terminal(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (40, 12)) as pilot:
        assert "2 Timeline" not in text_of(pilot.app)
        for columns, named in ((200, True), (40, False), (80, True)):
            await pilot.resize_terminal(columns, 40)
            await settle(pilot)
            assert ("2 Timeline" in text_of(pilot.app)) is named, columns


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (40, ["Rule", "Looks for"]),
        (80, ["Rule", "State", "Looks for"]),
        (120, ["Rule", "State", "Looks for", "Reason"]),
    ],
)
async def test_checks_show_the_columns_that_fit(app_for: MakeApp, width: int, titles: list[str]) -> None:
    async with running(app_for(analyses.example()), (width, 24)) as pilot:
        await pilot.press("5")
        await settle(pilot)
        table = pilot.app.screen.query_one(CheckTable)
        (column,) = table.columns.values()
        assert re.split("  +", str(column.label).strip()) == titles
        assert sum(column.width + 2 for column in table.columns.values()) <= table.size.width


@pytest.mark.slow
async def test_the_next_check_leaves_the_table_as_it_is(app_for: MakeApp) -> None:
    """A reason on more lines than the one before made the table smaller: it was filled and painted anew, 200 ms of CPU."""
    async with running(app_for(analyses.example()), (44, 24)) as pilot:
        await pilot.press("5")
        await settle(pilot)
        screen = pilot.app.screen
        table, reason = screen.query_one(CheckTable), screen.query_one("#reason", Static)
        filled, lines = [table._update_count], set()
        for _ in range(15):
            await pilot.press("j")
            await settle(pilot)
            filled.append(table._update_count)
            lines.add(-(-len(str(reason.content)) // reason.size.width))
        assert len(lines) > 1
        assert len(set(filled)) == 1


@pytest.mark.parametrize("key", ["2", "3", "5"])
async def test_a_row_of_a_table_is_one_cell(app_for: MakeApp, measured: Explained, key: str) -> None:
    """Textual takes nearly as long to draw one as to draw all columns in it."""
    async with running(app_for(measured)) as pilot:
        await pilot.press(key)
        await settle(pilot)
        table = pilot.app.screen.query_one(FillingTable)
        assert table.row_count
        assert len(table.columns) == 1


async def test_allocations_show_the_columns_that_fit_and_keep_the_cursor(app_for: MakeApp, measured: Explained) -> None:
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("4")
        await settle(pilot)
        table = pilot.app.screen.query_one(AllocationTable)
        table.focus()
        row = table.row_count - 1
        await pilot.press("G")
        for width, count in ((40, 2), (80, 4)):
            await pilot.resize_terminal(width, 24)
            await settle(pilot)
            assert len(table.columns) == count
            assert sum(column.width + 2 for column in table.columns.values()) <= table.size.width
            assert table.cursor_row == row


async def test_a_headline_without_a_saving_has_no_arrow(app_for: MakeApp) -> None:
    base = analyses.example()
    summary = replace(base.summary, reachable_step_ns=base.summary.step_ns.mean)
    async with running(app_for(replace(base, summary=summary)), (80, 24)) as pilot:
        assert "  412 ms a step" in text_of(pilot.app).split("\n")[0]


@pytest.mark.parametrize(("unprofiled_ns", "promised"), [(200_000_000, False), (388_000_000, True)])
async def test_a_headline_promises_no_more_than_a_step_takes_without_the_profiler(
    app_for: MakeApp, unprofiled_ns: int, *, promised: bool
) -> None:
    base = analyses.example()
    summary = replace(base.summary, unprofiled_step_ns=unprofiled_ns)
    async with running(app_for(replace(base, summary=summary)), (140, 40)) as pilot:
        assert ("148 ms" in text_of(pilot.app).split("\n")[0]) is promised
