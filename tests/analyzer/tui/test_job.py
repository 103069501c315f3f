"""A job on the screen: its verdict and ranks first, and each rank opens as its own report."""

from __future__ import annotations

from pathlib import Path

from analyzer.explain import Options
from analyzer.job import explain_job
from analyzer.tui.answer.opened import Opened
from analyzer.tui.screens.ranks import RanksScreen
from jobs import MS, Job
from ui import running, settle, text_of


def opened(folder: Path) -> Opened:
    paths = Job(dp=4, late_host={1: 8 * MS}).run().write(folder)
    return Opened(explain_job(paths, Options(select=("CO",))).explained)


async def test_the_job_comes_first_and_a_rank_opens_as_its_own_report(app_for, tmp_path):
    async with running(app_for(opened(tmp_path))) as pilot:
        assert isinstance(pilot.app.screen, RanksScreen)
        shown = text_of(pilot.app)
        said = " ".join(shown.replace("│", " ").split())
        assert "The others wait 8.0 ms of each 26 ms step for rank 1: Python on its host." in said
        assert "rank 1 costs 8.0 ms (30 %) a step, 4 of 4 steps, host: Python on its host" in said
        rows = [line for line in shown.splitlines() if " waits " in line and " of " in line and "rank" in line]
        assert int(rows[0].split("rank")[1].split()[0]) == 1
        assert "///" not in rows[0]
        assert all("///" in row for row in rows[1:])
        await pilot.press("j", "enter")
        await settle(pilot)
        assert not isinstance(pilot.app.screen, RanksScreen)
        assert "Rank 1" not in text_of(pilot.app).split("Findings of")[0]


async def test_escape_leads_to_the_rank_to_look_at_first_and_r_back(app_for, tmp_path):
    async with running(app_for(opened(tmp_path)), (80, 24)) as pilot:
        await pilot.press("escape")
        await settle(pilot)
        assert "Rank 1, the others wait for it" in " ".join(text_of(pilot.app).split())
        await pilot.press("r")
        assert isinstance(pilot.app.screen, RanksScreen)
