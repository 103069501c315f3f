"""What it looks like. Few pictures: the two usual sizes, and the states that look different."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analyzer.explain import Explained
from analyzer.tui.app import AdvisorApp
from showing import analyses
from showing.ui import settle

MakeApp = Callable[..., AdvisorApp]
pytestmark = pytest.mark.usefixtures("snapshot_guard")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_findings(snap_compare: Any, app_for: MakeApp, size: tuple[int, int]) -> None:
    assert snap_compare(app_for(analyses.example()), terminal_size=size, run_before=settle)


def test_no_findings(snap_compare: Any, app_for: MakeApp) -> None:
    assert snap_compare(app_for(analyses.healthy()), terminal_size=(80, 24), run_before=settle)


def test_detail(snap_compare: Any, app_for: MakeApp) -> None:
    async def open_detail(pilot: Any) -> None:
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=(80, 24), run_before=open_detail)


def test_checks(snap_compare: Any, app_for: MakeApp) -> None:
    async def open_checks(pilot: Any) -> None:
        await settle(pilot)
        await pilot.press("5")
        await settle(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=(80, 24), run_before=open_checks)


@pytest.mark.parametrize(("key", "size"), [("2", (120, 40)), ("3", (80, 24)), ("4", (120, 40))])
def test_modes(snap_compare: Any, app_for: MakeApp, measured: Explained, key: str, size: tuple[int, int]) -> None:
    async def switch(pilot: Any) -> None:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)

    assert snap_compare(app_for(measured), terminal_size=size, run_before=switch)
