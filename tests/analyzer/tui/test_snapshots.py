"""What it looks like. Few pictures: the two usual sizes, and the states that look different."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import analyses
from analyzer.tui.app import AdvisorApp

MakeApp = Callable[..., AdvisorApp]
pytestmark = pytest.mark.usefixtures("snapshot_guard")


async def ready(pilot: Any) -> None:
    await pilot.app.workers.wait_for_complete()
    for _ in range(3):
        await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_findings(snap_compare: Any, app_for: MakeApp, size: tuple[int, int]) -> None:
    assert snap_compare(app_for(analyses.example()), terminal_size=size, run_before=ready)


def test_no_findings(snap_compare: Any, app_for: MakeApp) -> None:
    assert snap_compare(app_for(analyses.healthy()), terminal_size=(80, 24), run_before=ready)


def test_detail(snap_compare: Any, app_for: MakeApp) -> None:
    async def open_detail(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("j", "enter")
        await ready(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=(80, 24), run_before=open_detail)


def test_checks(snap_compare: Any, app_for: MakeApp) -> None:
    async def open_checks(pilot: Any) -> None:
        await ready(pilot)
        await pilot.press("5")
        await ready(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=(80, 24), run_before=open_checks)
