"""Folders of ranks: traces, summaries and mixtures; ranks that are missing, cut or doubled; what a report says first."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from analyzer.cli.main import advisor, main
from analyzer.job import explain_job
from analyzer.job.one import summary_of
from analyzer.options import Options
from analyzer.ranks.files import encode
from jobs.simulated import MS, Job
from running.recorded import SHARED, needs_shared
from traces.errors import UnreadableTraceError, UntrustedTraceError

FAULT = Job(dp=2, tp=2, late_host={1: 8 * MS})
# What is looked at here is the job; rules cost a third of a second a rank.
FEW = Options(select=("CO",))


def test_traces_summaries_and_mixtures_give_the_same_job(tmp_path: Path) -> None:
    paths = FAULT.run().write(tmp_path)
    small = []
    for path in paths:
        small.append(path.with_suffix(".summary.json.gz"))
        small[-1].write_bytes(encode(summary_of(path, FEW)))
    first = explain_job(paths, FEW, only_first=True).first.analysis.job
    assert first is not None
    assert [(one.rank, one.cause) for one in first.late] == [(1, "host")]
    assert first.name == tmp_path.name
    for mixed in (small, [*paths[:2], *small[2:]]):
        other = explain_job(mixed, FEW, only_first=True).first.analysis.job
        assert other == first


def test_of_summaries_alone_the_job_and_the_ranks_figures_are_told(tmp_path: Path) -> None:
    for path in FAULT.run().write(tmp_path):
        path.with_name(path.stem + ".summary.json").write_bytes(encode(summary_of(path, FEW), compress=False))
        path.unlink()
    result = CliRunner().invoke(advisor, ["explain", str(tmp_path), "--format", "json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["job"]["late"][0]["rank"] == 1
    assert document["trace"]["ranks"] == [1]
    assert document["findings"] == []


def test_a_cut_a_missing_and_a_doubled_rank_end_nothing(tmp_path: Path) -> None:
    run = Job(dp=8, late_host={1: 8 * MS}).run()
    paths = run.write(tmp_path, without=(6,))
    paths[5].write_bytes(b'{"traceEvents": [')
    again = tmp_path / "again_rank_2.json"
    again.write_bytes(paths[2].read_bytes())
    job = explain_job([*paths, again], FEW, only_first=True).first.analysis.job
    assert job is not None
    assert {(row.rank, row.state) for row in job.ranks if row.state != "ok"} == {
        (5, "unreadable"),
        (6, "missing"),
        (2, "doubled"),
    }
    assert [one.rank for one in job.late] == [1]
    assert "6 of 8 ranks are here" in job.verdict.text


def test_one_file_of_all_ranks_is_split(tmp_path: Path) -> None:
    run = FAULT.run()
    path = tmp_path / "merged.json"
    path.write_text("\n".join(json.dumps(run.trace(rank).document()) for rank in range(4)))
    job = explain_job([path], FEW, only_first=True)
    assert job.one_job
    assert job.first.analysis.job is not None
    assert [one.rank for one in job.first.analysis.job.late] == [1]


def test_a_damaged_file_beside_an_unrelated_one_is_an_error_that_names_the_sound_one(tmp_path: Path) -> None:
    damaged = tmp_path / "a.json"
    damaged.write_text("[")
    with pytest.raises(UnreadableTraceError, match=r"b\.json can be read"):
        explain_job([damaged, FAULT.run().trace(0).write(tmp_path / "b.json")], FEW)


def test_the_job_stands_first_in_text_and_markdown(tmp_path: Path) -> None:
    FAULT.run().write(tmp_path)
    text = CliRunner().invoke(advisor, ["explain", str(tmp_path), "--plain"]).stdout
    assert text.startswith(f"Job {tmp_path.name}: 4 ranks")
    assert "The others wait 8.0 ms of each 29 ms step for rank 1: Python on its host." in " ".join(text.split())
    assert "waits for others" in text
    assert "with rank 1 as its peers" in text
    out = tmp_path / "r.md"
    CliRunner().invoke(advisor, ["explain", str(tmp_path), "-o", str(out)])
    assert "| 1 | 8.0 ms (28 %) | 4 of 4 steps | host | Python on its host |" in out.read_text()


def test_the_finding_on_the_late_rank_saves_what_the_job_gains(tmp_path: Path) -> None:
    FAULT.run().write(tmp_path)
    first = explain_job(sorted(tmp_path.iterdir()), FEW, only_first=True).first.analysis
    assert first.trace.ranks == (1,)
    [found] = [one for one in first.findings if one.rule == "CO003"]
    assert found.saving.ns_per_step_max == pytest.approx(8 * MS, rel=0.05)
    assert "Its host is what is late." in found.why


def test_ranks_of_two_jobs_are_none(tmp_path: Path) -> None:
    a = Job(dp=2).run().trace(0).write(tmp_path / "a.json")
    b = Job(dp=4).run().trace(1).write(tmp_path / "b.json")
    assert not explain_job([a, b], FEW).one_job


@needs_shared
def test_of_two_ranks_among_128_nothing_is_said_of_the_others() -> None:
    job = explain_job(
        [SHARED / "hta_two_ranks_0.json.gz", SHARED / "hta_two_ranks_1.json.gz"], FEW, only_first=True
    ).first.analysis.job
    assert job is not None
    assert (job.present, job.world_size, job.missing) == (2, 128, 126)
    assert job.late == ()
    assert not any(link.slow for link in job.links)
    assert "2 of 128 ranks are here; nothing is known of the other 126." in job.verdict.text
    assert job.verdict.held_up_by == "not clear"
    assert job.pipeline is None
    assert all(one.at_most for one in job.what_if)


def test_ranks_in_folders_of_their_own_are_told_apart_and_named_by_them(tmp_path: Path) -> None:
    run = Job(dp=4, late_host={1: 8 * MS}).run()
    for rank in range(4):
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        trace = run.trace(rank)
        trace.top.pop("distributedInfo")
        trace.write(folder / "trace.json")
    (tmp_path / "rank3" / "trace.json").write_bytes(b"[")
    result = CliRunner().invoke(advisor, ["explain", str(tmp_path), "--format", "json", "--select", "CO"])
    assert result.exit_code == 0
    job = json.loads(result.stdout)["job"]
    assert job["name"] == tmp_path.name
    assert [one["rank"] for one in job["late"]] == [1]
    assert {(row["rank"], row["file"], row["state"]) for row in job["ranks"]} == {
        *((rank, f"rank{rank}/trace.json", "ok") for rank in range(3)),
        (3, "rank3/trace.json", "unreadable"),
    }


def in_folders(folder: Path, what: str, job: Job = FAULT) -> list[Path]:
    """The ranks of a job, each in a folder of its own and all of one name: traces, or their summaries."""
    paths = []
    for path in job.run().write(folder):
        home = folder / path.stem
        home.mkdir()
        path.rename(home / "trace.json")
        if what == "summary":
            (home / "small.json").write_bytes(encode(summary_of(home / "trace.json", FEW), compress=False))
            (home / "trace.json").unlink()
        paths.append(next(home.iterdir()))
    return paths


@pytest.mark.parametrize(("what", "name"), [("trace", "trace.json"), ("summary", "small.json")])
def test_files_of_one_name_are_told_apart_wherever_one_is_named(tmp_path: Path, what: str, name: str) -> None:
    paths = in_folders(tmp_path, what)
    first = explain_job(paths, FEW, only_first=True).first.analysis
    assert first.trace.name == f"rank_1/{name}"
    assert first.job is not None
    assert {row.file for row in first.job.ranks} == {f"rank_{rank}/{name}" for rank in range(4)}
    assert f"rank_1/{name}" in CliRunner().invoke(advisor, ["explain", str(tmp_path), "--full"]).stdout


def test_files_of_names_of_their_own_are_called_by_these_alone(tmp_path: Path) -> None:
    first = explain_job(FAULT.run().write(tmp_path), FEW, only_first=True).first.analysis
    assert first.trace.name == "rank_1.json"


def test_traces_of_one_name_that_are_no_job_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name / "trace.json" for name in ("before", "after")]
    for path, size in zip(paths, (2, 4), strict=True):
        path.parent.mkdir()
        Job(dp=size).run().trace(0).write(path)
    found = explain_job(paths, FEW)
    assert not found.one_job
    assert [one.analysis.trace.name for one in found.explained] == ["before/trace.json", "after/trace.json"]
    told = CliRunner().invoke(advisor, ["compare", *map(str, paths)]).stdout
    assert told.startswith("before/trace.json → after/trace.json")


def covered(spans: list[tuple[float, float]], inside: list[tuple[float, float]]) -> set[tuple[float, bool]]:
    """Edges of the union of spans, cut to windows that do not overlap."""
    edges = set[tuple[float, bool]]()
    last = float("-inf")
    for start, end in sorted((max(a, low), min(b, high)) for a, b in spans for low, high in inside):
        if end > max(start, last):
            edges |= {(max(start, last), True), (end, False)}
            last = end
    return edges


def length(*unions: list[tuple[float, float]], inside: list[tuple[float, float]]) -> float:
    """How long any span of the lists covers of the windows."""
    edges = covered([span for union in unions for span in union], inside)
    return sum(-at if begins else at for at, begins in edges)


@needs_shared
def test_the_exposed_communication_of_a_recorded_rank_is_what_the_raw_events_say() -> None:
    path = SHARED / "tracelens_mi300x_ddp_resnet.json.gz"
    first = explain_job([path], FEW).first
    assert first.facts is not None
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    base = first.facts.trace.meta.origin_ns
    # Without their windows two counts would be of different time.
    window = first.facts.steps.window
    inside = [*zip(window.start_ns.tolist(), window.end_ns.tolist(), strict=True)]
    device = [
        ("nccl" in one["name"].lower(), ((one["ts"] - base / 1e3) * 1e3, (one["ts"] - base / 1e3 + one["dur"]) * 1e3))
        for one in events
        if one.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    ]
    moving, working = ([span for is_nccl, span in device if is_nccl is which] for which in (True, False))
    exposed = length(moving, working, inside=inside) - length(working, inside=inside)
    summary = first.analysis.summary
    told = next(row.ns for row in summary.waterfall if row.cause == "communication")
    assert told == pytest.approx(exposed, rel=0.01)
    assert summary.verdict.bound_by == "communication"
    assert first.analysis.job is None


def test_a_job_of_which_no_rank_can_be_believed_is_told_so(tmp_path: Path) -> None:
    run = FAULT.run()
    for rank in range(run.job.world):
        doubted = msgspec.structs.replace(run.summary(rank), trust="unusable", doubts=("kernels were lost",))
        (tmp_path / f"rank{rank}.json").write_bytes(encode(doubted, compress=False))
    with pytest.raises(UntrustedTraceError, match="of no rank of this job") as caught:
        explain_job(sorted(tmp_path.iterdir()), FEW, only_first=True)
    assert "where: rank_0.json" in str(caught.value)
    assert "not to be trusted: kernels were lost" in str(caught.value)
    assert main(["explain", str(tmp_path), "--format", "json"]) == 4
