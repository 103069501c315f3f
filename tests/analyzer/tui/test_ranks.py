"""Several ranks, a baseline, and evidence that comes later."""

from __future__ import annotations

import gzip
import sys
import threading
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from analyzer.analysis import Analysis, RankRow
from analyzer.compare.comparison import compare
from analyzer.compare.snapshot import snapshot
from analyzer.explain import Explained, Options
from analyzer.hta import deepen
from analyzer.job.engines.local import HereEngine
from analyzer.ranks.files import encode
from analyzer.tui.answer.opened import Opened, Since
from analyzer.tui.screens.ranks import RanksScreen
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.work import deeper
from analyzer.tui.work.deeper import Deeper, NotDeeperError
from analyzer.tui.work.job import job_for
from analyzer.tui.work.messages import Analysed, Failed
from building.builders import TraceBuilder
from jobs.simulated import Job as RanksJob
from showing import analyses
from showing.ui import loader_bound, running, settle, text_of

MS = 1_000_000


def two_ranks() -> Opened:
    rows = tuple(
        RankRow(
            rank=number, name=f"rank{number}.json", step_ns=412 * MS, bound_by="input", verdict="input-bound",
            in_collectives_ns=wait * MS, late=number == 1,
        )
        for number, wait in ((1, 2), (0, 50))
    )  # fmt: skip
    late = analyses.example(ranks=rows)
    other = msgspec.structs.replace(late, findings=late.findings[:1])
    return Opened((Explained(late), Explained(other)))


async def test_the_rank_the_others_wait_for_comes_first_and_r_chooses_another(app_for):
    async with running(app_for(two_ranks())) as pilot:
        shown = text_of(pilot.app)
        for words in (
            "r: rank 1 of 2",
            "Rank 1, the others wait for it",
            "all ranks",
            "this rank only",
            "Findings of rank 1 · r: 2 ranks",
        ):
            assert words in shown, words
        first = pilot.app.screen
        await pilot.press("r")
        assert isinstance(pilot.app.screen, RanksScreen)
        assert "the others wait for it" in text_of(pilot.app)
        await pilot.press("j", "enter")
        await settle(pilot)
        assert "Rank 0: " in text_of(pilot.app)
        assert len(pilot.app.screen.query_one(FindingList).shown) == 1
        await pilot.press("5", "1")
        await settle(pilot)
        assert "Rank 0: " in text_of(pilot.app)
        names = {command.title: command.callback for command in pilot.app.get_system_commands(pilot.app.screen)}
        names["Rank 1"]()
        await settle(pilot)
        assert pilot.app.screen is first


async def test_r_on_one_rank_says_how_to_see_several(app_for):
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("r")
        assert any("all ranks" in one.message for one in pilot.app._notifications)


async def test_findings_are_grouped_by_what_became_of_them_since_the_baseline(app_for, measured):
    now = snapshot(measured.analysis, measured.facts)
    (finding,) = now.findings
    old = msgspec.structs.replace(finding, rule="SY001", title="Sync [/x] in the loop")
    gone = msgspec.structs.replace(finding, rule="ZZ001", title="No longer known")
    before = msgspec.structs.replace(now, findings=(old, gone), steps_ns=tuple(2 * step for step in now.steps_ns))
    after = msgspec.structs.replace(now, quiet=(*now.quiet, "SY001"))
    async with running(app_for(Opened((measured,), (Since("main", compare([before], [after])),)))) as pilot:
        shown = text_of(pilot.app)
        for words in (
            "200 ms → 100 ms", "Since main: ", "New since main", "Fixed since main", "SY001  Sync [/x] in the loop",
            "Could not be checked again", "ZZ001",
        ):  # fmt: skip
            assert words in shown, words
        assert shown.index("Fixed since main") < shown.index("New since main") < shown.index("Could not be checked")
        assert pilot.app.screen.query_one(FindingList).finding.rule == finding.rule
        await pilot.press("G", "g", "n", "j", "k")
        assert pilot.app.screen.query_one(FindingList).finding.rule == finding.rule


async def test_a_baseline_of_another_device_is_not_compared(app_for, measured):
    now = snapshot(measured.analysis, measured.facts)
    before = msgspec.structs.replace(now, conditions=msgspec.structs.replace(now.conditions, device="[H100]"))
    async with running(app_for(Opened((measured,), (Since("main", compare([before], [now])),)))) as pilot:
        assert "Not comparable with main" in text_of(pilot.app)
        assert "Still there" in text_of(pilot.app)


async def test_deeper_evidence_comes_later_and_stays(app_for, measured, monkeypatch, tmp_path):
    more = analyses.bars("queued work (HTA)", "count", stream_7=3)
    first = measured.analysis.findings[0]
    richer = msgspec.structs.replace(first, evidence=(*first.evidence, more))
    answer = tmp_path / "answer.json"
    answer.write_bytes(msgspec.json.encode(msgspec.structs.replace(measured.analysis, findings=(richer,))))
    monkeypatch.setattr(deeper, "worth_it", lambda analysis, path: True)
    app = app_for(Opened((measured,), paths=(answer,)))
    app._deeper = Deeper((sys.executable, "-c", "import sys; sys.stdout.write(open(sys.argv[1]).read())"))
    async with running(app) as pilot:
        assert "queued work (HTA)" in text_of(app)
        assert more in app.analysis.findings[0].evidence
        await pilot.press("q")


async def test_p_writes_the_trace_for_perfetto_and_says_where_to_look(app_for, measured, tmp_path):
    path = rank(tmp_path, 0, 5_000)
    async with running(app_for(Opened((measured,), paths=(path,), deep=True))) as pilot:
        await pilot.press("P")
        await settle(pilot)
        (said,) = pilot.app._notifications
    assert "ui.perfetto.dev" in said.title
    assert "Look at step 0, 0 ns to 40 ms after the start" in said.message.replace("\n", " ")
    with gzip.open(tmp_path / "trace-advisor" / "rank0.annotated.json.gz") as file:
        assert b"the diagnosis" in file.read()


def test_the_other_process_adds_what_hta_says(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(deepen, "deepen", lambda analysis, trace: msgspec.structs.replace(analysis, findings=()))
    monkeypatch.setattr("os.nice", lambda by: 0)
    written: list[bytes] = []
    path = rank(tmp_path, 0, 5_000)
    assert deeper.main(path, lambda: msgspec.json.encode(measured.analysis), written.append) == 0
    assert msgspec.json.decode(written[0], type=Analysis).findings == ()


@pytest.mark.parametrize(
    ("program", "says"), [("sys.exit(1)", "ended with 1"), ("pass", "ended with 0"), ("{}['x']", "KeyError: 'x'")]
)
def test_without_an_answer_the_reason_is_said(measured, tmp_path, program, says):
    one = Deeper((sys.executable, "-c", f"import sys; {program}"))
    with pytest.raises(NotDeeperError, match=says):
        one.look(measured.analysis, tmp_path)
    with pytest.raises(NotDeeperError, match="No such file"):
        Deeper(("no-such-program",)).look(measured.analysis, tmp_path)
    one.stop()
    assert one.look(measured.analysis, tmp_path) is None


async def test_the_list_says_that_it_looks_deeper_and_a_failure_says_so(app_for, measured, monkeypatch, tmp_path):
    gate, begun = threading.Event(), threading.Event()

    class Failing(Deeper):
        def look(self, analysis: Analysis, path: Path) -> Analysis | None:
            begun.set()
            gate.wait(10)
            raise NotDeeperError("ValueError: [/x]")

    monkeypatch.setattr(deeper, "worth_it", lambda analysis, path: True)
    app = app_for(Opened((measured,), paths=(tmp_path / "trace.json",)))
    app._deeper = Failing()
    async with app.run_test(size=(80, 24)) as pilot:
        while not begun.is_set():
            await pilot.pause(0.01)
        await pilot.pause()
        assert "looking deeper" in text_of(app)
        gate.set()
        await settle(pilot)
        assert "looking deeper" not in text_of(app)
        (said,) = app._notifications
    assert "ValueError: [/x]. The findings stand without it." in said.message


async def test_looking_deeper_can_be_stopped_and_counts(app_for, measured, monkeypatch, tmp_path):
    monkeypatch.setattr(deeper, "worth_it", lambda analysis, path: True)
    monkeypatch.setattr("analyzer.tui.findings.looking._SAID_AFTER_SECONDS", 0)
    app = app_for(Opened((measured,), paths=(tmp_path / "trace.json",)))
    app._deeper = waiting = Deeper((sys.executable, "-c", "import time; time.sleep(600)"))
    async with app.run_test(size=(120, 40)) as pilot:
        while waiting._process is None:
            await pilot.pause(0.01)
        await pilot.pause()
        assert "looking deeper, 0 s, x stops" in text_of(app)
        await pilot.press("x")
        await settle(pilot)
        assert "looking deeper" not in text_of(app)
        assert waiting._process.wait(10) != 0
        # Nothing is wrong: nobody is told of an error.
        assert not app._notifications
        assert not app.screen.check_action("stop_deeper", ())


def test_a_finding_names_the_rank_where_it_costs_most():
    opened = two_ranks()
    first, other = opened.explained
    (cheaper,) = other.analysis.findings
    saving = msgspec.structs.replace(cheaper.saving, ns_per_step_max=2 * cheaper.saving.ns_per_step_max)
    worse = msgspec.structs.replace(
        other.analysis, findings=(msgspec.structs.replace(cheaper, saving=saving),), ranks=first.analysis.ranks
    )
    opened = Opened((first, Explained(worse)))
    assert opened.seen_on(0)[cheaper.id] == "worst on rank 0, all ranks"
    assert opened.seen_on(1)[cheaper.id] == "worst here, all ranks"
    assert set(opened.seen_on(0).values()) == {"worst on rank 0, all ranks", "this rank only"}


def rank(folder: Path, number: int, compute_us: float) -> Path:
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2}})
    for index in range(4):
        at = index * 10_000
        builder.step(index, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=compute_us, name="gemm")
    return builder.write(folder / f"rank{number}.json")


def test_a_job_reads_all_ranks_and_says_what_is_wrong_with_a_baseline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [rank(tmp_path, 0, 5_000), rank(tmp_path, 1, 8_000)]
    posted: list[object] = []
    job_for(paths, Options()).run(posted.append)
    assert isinstance(posted[-1], Analysed)
    assert {row.rank for row in posted[-1].opened.ranks} == {0, 1}
    job_for(paths, Options(), "absent").run(posted.append)
    assert isinstance(posted[-1], Failed)
    assert "no baseline" in posted[-1].error.what


@pytest.mark.parametrize(("sizes", "same"), [((2, 2), True), ((2, 4), False), ((0, 0), False)])
def test_ranks_of_one_job_are_known_by_their_heads(tmp_path, sizes, same):
    from analyzer.opening.same_job import same_job

    paths = []
    for number, size in enumerate(sizes):
        builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": size}} if size else {})
        builder.step(0, 0, 1_000)
        paths.append(builder.write(tmp_path / f"{number}.json"))
    assert same_job(paths) is same
    # One that cannot be read is named as such by the job; one that states no rank is another recording.
    assert same_job([*paths, tmp_path / "absent.json"]) is same
    other = TraceBuilder()
    other.step(0, 0, 1_000)
    assert not same_job([*paths, other.write(tmp_path / "other.json")])


@pytest.mark.parametrize("compressed", [True, False])
def test_summaries_are_ranks_of_one_job(tmp_path, compressed):
    from analyzer.opening.same_job import same_job

    run = RanksJob(dp=3, steps=2).run()
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.summary.json{'.gz' * compressed}")
        paths[-1].write_bytes(encode(run.summary(number), compress=compressed))
    assert same_job([*paths, *run.write(tmp_path)[2:]])
    assert not same_job(paths[:1])


def test_the_engine_that_was_asked_for_reads_the_ranks_of_a_job(tmp_path):
    class Told(HereEngine):
        places: ClassVar[list[str]] = []

        def outcomes(self, places, options, report):
            self.places.extend(places)
            return super().outcomes(places, options, report)

    paths = [rank(tmp_path, 0, 5_000), rank(tmp_path, 1, 8_000)]
    posted = []
    job_for(paths, Options(select=("CO",)), engine=Told).run(posted.append)
    assert isinstance(posted[-1], Analysed)
    assert Told.places == [str(path) for path in paths]


def test_a_trace_itself_can_be_the_baseline(tmp_path):
    now, before = (loader_bound().write(tmp_path / f"{name}.json") for name in ("now", "before"))
    posted = []
    job_for([now], Options(select=("DL001",)), str(before)).run(posted.append)
    (since,) = posted[-1].opened.since
    assert since.baseline == "before"
    assert [rule.state for rule in since.comparison.rules] == ["still"]
