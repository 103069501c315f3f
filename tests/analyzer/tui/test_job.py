"""A job on the screen: its verdict and ranks first, and each rank opens as its own report."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.explain import Options
from analyzer.job import explain_job
from analyzer.ranks.files import encode
from analyzer.tui.answer.opened import Opened
from analyzer.tui.screens.ranks import RanksScreen
from jobs.simulated import MS, Job
from showing.ui import running, settle, text_of


def opened(folder: Path) -> Opened:
    paths = Job(dp=4, late_host={1: 8 * MS}).run().write(folder)
    return Opened(explain_job(paths, Options(select=("CO",))).explained)


async def test_the_job_comes_first_and_a_rank_opens_as_its_own_report(app_for, tmp_path):
    async with running(app_for(opened(tmp_path))) as pilot:
        assert isinstance(pilot.app.screen, RanksScreen)
        shown = text_of(pilot.app)
        said = " ".join(shown.replace("│", " ").split())
        assert "The others wait 8.0 ms of each 26 ms step for rank 1: Python on its host." in said
        assert "late rank costs the job a step late in cause" in said
        assert "1 8.0 ms (30 %) 4 of 4 steps host: Python on its host" in said
        rows = [line for line in shown.splitlines() if " waits " in line and " of " in line and "rank" in line]
        assert int(rows[0].split("rank")[1].split()[0]) == 1
        assert "///" not in rows[0]
        assert all("///" in row for row in rows[1:])
        await pilot.press("j", "enter")
        await settle(pilot)
        assert not isinstance(pilot.app.screen, RanksScreen)
        assert "Rank 1" not in text_of(pilot.app).split("Findings of")[0]


@pytest.mark.parametrize(("size", "least"), [((60, 20), 12), ((80, 24), 20), ((120, 40), 48), ((200, 50), 48)])
async def test_bars_take_the_room_that_words_leave(app_for, tmp_path, size, least):
    async with running(app_for(opened(tmp_path)), size) as pilot:
        rows = [line for line in text_of(pilot.app).splitlines() if " waits " in line and "rank" in line]
        # On the smallest the verdict leaves room for one of them.
        assert len(rows) == (1 if size[1] < 24 else 4)
        bars = [sum(row.count(mark) for mark in "█▚/") for row in rows]
        assert max(bars) >= least
        # What stands behind them is not cut off.
        assert all(" ms" in row.partition(" of ")[2] for row in rows)


async def test_of_many_ranks_those_that_are_not_listed_are_counted(app_for, tmp_path):
    """Of 20 summaries 16 are opened: the others are ranks of the job all the same, and none of them lacks a GPU."""
    paths = []
    for one in Job(dp=20, late_host={1: 8 * MS}, steps=2).run().summaries():
        paths.append(tmp_path / f"{one.rank}.summary.json.gz")
        paths[-1].write_bytes(encode(one))
    job = Opened(explain_job(paths, Options(select=("CO",))).explained)
    async with running(app_for(job)) as pilot:
        assert "4 more ranks that cost less" in text_of(pilot.app)
        await pilot.press("escape")
        await settle(pilot)
        shown = " ".join(text_of(pilot.app).split())
        assert "r: rank 1 of 20" in shown
        assert "GPU events" not in shown
        assert "GPU only its summary is here" in shown


async def test_escape_leads_to_the_rank_to_look_at_first_and_r_back(app_for, tmp_path):
    async with running(app_for(opened(tmp_path)), (80, 24)) as pilot:
        await pilot.press("escape")
        await settle(pilot)
        assert "Rank 1, the others wait for it" in " ".join(text_of(pilot.app).split())
        await pilot.press("r")
        assert isinstance(pilot.app.screen, RanksScreen)
