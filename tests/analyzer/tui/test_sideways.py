"""Long lines of a finding's code, from the list and from the detail, in a pane that is too narrow for them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer import analysis as doc
from analyzer.tui.draw.code import RIGHT
from analyzer.tui.screens.prove import ProvePage
from analyzer.tui.screens.rule_page import RulePage
from analyzer.tui.widgets.detail import MOVES_CODE, SIDEWAYS, Story
from showing import analyses
from showing.ui import running, settle, text_of

LONG = "loader = DataLoader(dataset, " + ", ".join(f"option_{number}={number}" for number in range(12)) + ")"


def with_code(code: str) -> doc.Analysis:
    found = analyses.example()
    fix = (doc.Advice(language="python", code=code, note=""),)
    return replace(found, findings=tuple(replace(one, fix=fix) for one in found.findings))


@pytest.mark.slow
async def test_arrows_move_it_and_another_finding_begins_at_the_left(app_for):
    async with running(app_for(with_code(f"if fast:\n    {LONG}"))) as pilot:
        story = pilot.app.screen.query_one(Story)
        pilot.app.screen.query_one("#detail").scroll_end(animate=False)
        await settle(pilot)
        shown = text_of(pilot.app)
        assert MOVES_CODE in shown
        assert any(line.rstrip(" │▇▄▁█").endswith(RIGHT) for line in shown.splitlines())
        assert "option_11=11" not in shown
        await pilot.press("right")
        assert story.shift == SIDEWAYS
        await pilot.press("enter", *["right"] * 30)
        await settle(pilot)
        assert story.shift == story.beyond()
        assert "option_11=11)" in text_of(pilot.app)
        await pilot.press("left")
        assert story.shift == story.beyond() - SIDEWAYS
        await pilot.press("n")
        await settle(pilot)
        assert story.shift == 0


async def test_where_all_of_it_fits_nothing_is_said_and_nothing_moves(app_for):
    async with running(app_for(with_code("x = 1"))) as pilot:
        await pilot.press("right")
        assert pilot.app.screen.query_one(Story).shift == 0
        assert MOVES_CODE not in text_of(pilot.app)


@pytest.mark.slow
async def test_code_of_the_pages_moves_too(app_for):
    """Of a fix and of the commands that prove it, and of a rule's page."""
    async with running(app_for(with_code(f"if fast:\n    {LONG}"))) as pilot:
        for page, open_it in ((ProvePage, ["a"]), (RulePage, ["5", "enter"])):
            await pilot.press(*open_it)
            await settle(pilot)
            screen = pilot.app.screen
            assert isinstance(screen, page)
            if page is RulePage:
                screen._page = f"## Example\n\n```python\n{LONG}\n```\n"
            screen.on_resize(None)
            await settle(pilot)
            shown = text_of(pilot.app)
            assert MOVES_CODE in shown
            assert RIGHT in shown
            assert "option_11=11" not in shown
            await pilot.press(*["right"] * 40)
            await settle(pilot)
            assert "option_11=11)" in text_of(pilot.app)
            moved = screen.shift
            await pilot.press("right")
            assert screen.shift == moved, "it has come to its end"
            await pilot.press("left")
            assert screen.shift == moved - SIDEWAYS
            await pilot.press("escape")
            await settle(pilot)


async def test_a_page_whose_code_fits_says_nothing_of_it(app_for):
    async with running(app_for(with_code("x = 1"))) as pilot:
        await pilot.press("question_mark")
        await settle(pilot)
        assert "Esc closes" in text_of(pilot.app)
        assert MOVES_CODE not in text_of(pilot.app)
