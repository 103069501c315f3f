"""Modes that were shown before: back at once, as they were left, in the theme of now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from textual.color import Color
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widgets import DataTable

from analyzer.tui.app import AdvisorApp
from analyzer.tui.look.themes import ADVISOR_LIGHT
from analyzer.tui.widgets.detail import Part
from analyzer.tui.widgets.finding_row import FindingRow
from showing import analyses
from showing.ui import running, settle

MakeApp = Callable[..., AdvisorApp]


async def test_no_style_is_read_or_applied_again_for_a_mode_that_was_kept(
    app_for: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Stylesheet] = []
    applied: list[DOMNode] = []
    reparse, update = Stylesheet.reparse, Stylesheet.update_nodes

    def reading(self: Stylesheet) -> None:
        read.append(self)
        reparse(self)

    def applying(self: Stylesheet, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        every = list(nodes)
        applied.extend(every)
        update(self, every, animate)

    monkeypatch.setattr(Stylesheet, "reparse", reading)
    monkeypatch.setattr(Stylesheet, "update_nodes", applying)
    async with running(app_for(analyses.example())) as pilot:
        read.clear()
        await pilot.press("5")
        await settle(pilot)
        assert not read
        table = pilot.app.screen.query_one(DataTable)
        await pilot.press("1")
        await settle(pilot)
        applied.clear()
        await pilot.press("5")
        await settle(pilot)
        assert pilot.app.screen.query_one(DataTable) is table
        assert table not in applied
        assert not read


async def test_a_theme_chosen_meanwhile_is_applied_to_a_kept_mode(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        await pilot.press("5", "1")
        await settle(pilot)
        before = pilot.app.screen.styles.background
        pilot.app.theme = ADVISOR_LIGHT.name
        await settle(pilot)
        light = pilot.app.screen.styles.background
        assert light != before
        await pilot.press("5")
        await settle(pilot)
        assert pilot.app.screen.styles.background == light
        await pilot.press("2")
        await settle(pilot)
        assert pilot.app.screen.styles.background == light


async def test_what_is_in_a_pane_is_not_painted_anew_when_the_focus_comes_or_goes(
    app_for: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a finding and going back painted the whole screen, and each row and part of it from the start: above 50 ms."""
    async with running(app_for(analyses.example())) as pilot:
        screen = pilot.app.screen
        panes = {name: screen.query_one(name) for name in ("#list-pane", "#detail")}
        titles: list[tuple[Color, ...]] = []
        painted: list[str] = []
        for kind in (FindingRow, Part):
            was = kind.render

            def rendering(self: Any, was: Any = was) -> Content:
                painted.append(type(self).__name__)
                return was(self)  # type: ignore[no-any-return]

            monkeypatch.setattr(kind, "render", rendering)
        for key in ("enter", "escape"):
            await pilot.press(key)
            await settle(pilot)
            titles.append(
                tuple(pane._get_title_style_information(pane.background_colors[1])[0] for pane in panes.values())
            )
        assert not painted
        # The title of the pane that has the focus is of its frame's colour.
        assert titles[0] == titles[1][::-1]
        assert titles[1][0] == panes["#list-pane"].styles.border_top[1] != titles[1][1]
