"""A rank's summary: what it keeps of a trace, that it is what the generator says, and how it stays small."""

from __future__ import annotations

import errno
import gzip
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from analyzer.cli.main import advisor
from analyzer.job.one import summaries_in, summary_of
from analyzer.ranks import files
from analyzer.ranks.schema import SHIPPED, render
from analyzer.ranks.summary import KernelRow, RankSummary
from building.builders import TraceBuilder
from jobs.simulated import MS, Job
from running.json_schema import jsonschema
from running.recorded import SHARED, needs_shared
from traces.errors import UnreadableTraceError, UsageError


def test_a_summary_says_what_the_rank_did(tmp_path: Path) -> None:
    run = Job(dp=2, tp=2, pp=2, late_host={1: 3 * MS}).run()
    found = summary_of(run.trace(1).write(tmp_path / "rank_1.json"))
    made = run.summary(1)
    assert (found.rank, found.rank_source, found.world_size) == (1, "distributedInfo", 8)
    assert [group.ranks for group in found.groups] == [(0, 1), (1, 5), (1, 3)]
    columns, expected = found.collectives, made.collectives
    kinds = [found.kinds[kind] for kind in columns.kind]
    assert kinds == [made.kinds[kind] for kind in expected.kind]
    assert columns.sequence == expected.sequence
    assert columns.peer == expected.peer
    assert columns.sent_bytes == expected.sent_bytes
    # The device begins a microsecond after the launch.
    assert all(abs(a - b) < 3_000 for a, b in zip(columns.dur_ns, expected.dur_ns, strict=True))
    assert [step.number for step in found.steps] == [0, 1, 2, 3]


def test_what_lies_between_collectives_adds_up_to_the_steps(tmp_path: Path) -> None:
    found = summary_of(Job(dp=2, tp=2).run().trace(0).write(tmp_path / "rank_0.json"))
    between = sum(sum(values) for values in found.collectives.own_ns.values())
    assert between + sum(found.tail_ns.values()) == found.window_ns


def test_python_time_before_a_collective_is_the_hosts(tmp_path: Path) -> None:
    found = summary_of(Job(dp=2, late_host={0: 5 * MS}).run().trace(0).write(tmp_path / "rank_0.json"))
    assert sum(found.collectives.own_ns["python"]) >= 4 * 5 * MS - MS


def test_a_trace_without_messages_takes_the_kind_from_the_host(tmp_path: Path) -> None:
    builder = TraceBuilder(top={"distributedInfo": {"rank": 3, "world_size": 8}})
    builder.step(0, 0, 1_000)
    builder.event("nccl:all_to_all", "user_annotation", 100, 50, args={"Input Dims": [[256]], "Input type": ["long"]})
    builder.launch(
        110, kernel_start=120, kernel_dur=300, name="ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"
    )
    found = summary_of(builder.write(tmp_path / "a.json"))
    assert [found.kinds[kind] for kind in found.collectives.kind] == ["all_to_all"]
    assert found.collectives.sent_bytes == [2048]
    assert found.groups[0].ranks == ()


def test_gloo_ranges_stand_for_collectives_without_a_device(tmp_path: Path) -> None:
    builder = TraceBuilder(None, top={"distributedInfo": {"rank": 0, "world_size": 2}})
    builder.step(0, 0, 1_000)
    builder.op("aten::mm", 0, 400, **{"Input Dims": [[4, 4]]})
    builder.annotation("gloo:all_reduce", 450, 300, thread=77)
    found = summary_of(builder.write(tmp_path / "a.json"))
    assert (found.collectives.start_ns, found.collectives.dur_ns) == ([450_000], [300_000])
    assert [(row.name, row.count, row.dur_ns) for row in found.kernels] == [("aten::mm", 1, 400_000)]


def test_an_op_that_waits_for_a_collective_is_no_work(tmp_path: Path) -> None:
    builder = TraceBuilder(None, top={"distributedInfo": {"rank": 0, "world_size": 2}})
    builder.step(0, 0, 1_000)
    builder.op("aten::mm", 0, 400)
    builder.op("_c10d_functional::all_reduce", 400, 20)
    builder.op("_c10d_functional::wait_tensor", 420, 400)
    builder.annotation("gloo:all_reduce", 430, 300, thread=77)
    found = summary_of(builder.write(tmp_path / "a.json"))
    assert [row.name for row in found.kernels] == ["aten::mm"]


def test_what_an_op_waits_for_others_is_no_work(tmp_path: Path) -> None:
    builder = TraceBuilder(None, top={"distributedInfo": {"rank": 0, "world_size": 2}})
    builder.step(0, 0, 1_000)
    builder.op("aten::mm", 0, 200)
    # FSDP2's hook scatters gradients inside a node of the backward pass, and waits there.
    builder.op("autograd::engine::evaluate_function: RegisterPostBackwardFunctionBackward", 300, 600)
    builder.op("RegisterPostBackwardFunctionBackward", 310, 580)
    builder.op("aten::chunk_cat", 320, 60)
    builder.event("gloo:all_reduce", "user_annotation", 400, 450, tid=77)
    found = summary_of(builder.write(tmp_path / "rank_0.json"))
    assert {row.name: row.dur_ns for row in found.kernels} == {
        "aten::mm": 200_000,
        "RegisterPostBackwardFunctionBackward": 130_000,
    }


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.json", 3),
        ("worker12.json.gz", 12),
        ("step5_rank-7.pt.trace.json", 7),
        ("run_4.json", 4),
        ("a.json", None),
    ],
)
def test_a_rank_that_is_not_stated_is_taken_from_the_name(tmp_path: Path, name: str, rank: int | None) -> None:
    builder = Job(dp=2).run().trace(0)
    builder.top.pop("distributedInfo")
    data = json.dumps(builder.document()).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = summary_of(path)
    assert (found.rank, found.rank_source) == (rank, None if rank is None else "file name")


def test_a_name_makes_no_rank_of_a_run_without_collectives(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000)
    builder.launch(0, kernel_start=10, kernel_dur=900)
    assert summary_of(builder.write(tmp_path / "rank_3.json")).rank is None


def test_a_merged_file_holds_the_summaries_of_its_ranks(tmp_path: Path) -> None:
    run = Job(dp=2).run()
    path = tmp_path / "merged.json"
    path.write_text("\n".join(json.dumps(run.trace(rank).document()) for rank in range(2)))
    assert [one.rank for one in summaries_in(path)] == [0, 1]


def test_writing_and_reading_gives_the_same(tmp_path: Path) -> None:
    made = Job(dp=2, tp=2).run().summary(1)
    for compress in (True, False):
        path = tmp_path / "s.json.gz"
        path.write_bytes(files.encode(made, compress=compress))
        assert files.looks_like_summary(path)
        assert summaries_in(path) == (made,)
    assert files.encode(made) == files.encode(made)


def test_kernels_go_first_and_collectives_last() -> None:
    made = Job(dp=2, tp=2, steps=4).run().summary(1)
    rows = tuple(
        KernelRow(name=f"kernel_{n * 7919}", shape=f"{n:08x}", count=1, dur_ns=9_000 - n) for n in range(3_000)
    )
    whole = msgspec.structs.replace(made, kernels=rows)
    room = len(files.encode(msgspec.structs.replace(made, kernels=rows[:100])))
    fewer = files.decode(files.encode(whole, most_bytes=room), "x")
    assert len(fewer.kernels) + fewer.cut.kernels == 3_000
    assert fewer.kernels == rows[: len(fewer.kernels)]
    assert (fewer.cut.steps, fewer.cut.collectives, fewer.collectives) == (0, 0, made.collectives)
    least = files.decode(files.encode(whole, most_bytes=1_500), "x")
    assert len(least.steps) + least.cut.steps == 4
    assert len(least.collectives.start_ns) + least.cut.collectives == len(made.collectives.start_ns)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"schema_version":"1.0"', b'"schema_version":"9.0"'),
        lambda data: data.replace(b'"step":[0,', b'"step":['),
        lambda data: data.replace(b'"step":[0,', b'"step":[99,'),
    ],
)
def test_a_damaged_summary_is_refused(change) -> None:
    data = files.encode(Job(dp=2).run().summary(0), compress=False)
    with pytest.raises(UnreadableTraceError):
        files.decode(change(data), "s.json")


def test_the_shipped_schema_is_fresh_and_holds() -> None:
    assert SHIPPED.read_text() == render()
    data = files.encode(Job(dp=2, tp=2, pp=2, ep=2).run().summary(1), compress=False)
    jsonschema.validate(json.loads(data), json.loads(SHIPPED.read_text()))


def test_the_command_writes_a_summary(tmp_path: Path) -> None:
    trace = Job(dp=2).run().trace(1).write(tmp_path / "rank_1.json")
    out = tmp_path / "s.json.gz"
    assert CliRunner().invoke(advisor, ["summarize", str(trace), "-o", str(out)]).exit_code == 0
    assert summary_of(out).rank == 1
    CliRunner().invoke(advisor, ["summarize", str(trace), "-o", str(out), "--rank", "5"])
    assert (summary_of(out).rank, summary_of(out).rank_source) == (5, "asked")


@pytest.mark.parametrize(
    "form", [["--brief"], ["--full"], ["--format", "markdown"], ["--format", "html"]], ids=" ".join
)
def test_a_summary_is_no_clean_bill(form: list[str], tmp_path: Path) -> None:
    """It keeps which findings its trace had, and holds none itself."""
    builder = TraceBuilder(None)
    builder.top = {"schemaVersion": 1}
    for number in range(6):
        builder.step(number, number * 1_000, 1_000)
        builder.loader(number * 1_000, 800)
        builder.op("aten::mm", number * 1_000 + 800, 200)
    trace, out = builder.write(tmp_path / "rank_0.json"), tmp_path / "s.json.gz"
    assert CliRunner().invoke(advisor, ["summarize", str(trace), "-o", str(out)]).exit_code == 0
    said = " ".join(CliRunner().invoke(advisor, ["explain", str(out), *form]).stdout.split())
    assert "its own findings: DL00" in said
    assert "explain its trace for findings" in said
    assert "No finding is worth" not in said
    assert "checks passed" not in said
    of_trace = CliRunner().invoke(advisor, ["explain", str(trace), *form]).stdout
    assert "made from the rank's summary" not in of_trace.lower()


def test_a_host_is_told_apart_without_its_name(tmp_path: Path) -> None:
    found = summary_of(Job(dp=2).run().trace(0).write(tmp_path / "a.json"))
    assert found.host is not None
    assert b"host0" not in files.encode(found, compress=False)


@needs_shared
def test_recorded_ranks_are_summarised() -> None:
    found: RankSummary = summary_of(SHARED / "tracelens_mi300x_ddp_resnet.json.gz")
    assert [group.ranks for group in found.groups] == [tuple(range(8))]
    assert set(found.kinds) == {"broadcast", "all_reduce"}
    assert len(files.encode(found)) < 20_000


def test_a_damaged_archive_and_a_name_that_cannot_be_are_no_summaries(tmp_path: Path) -> None:
    damaged = tmp_path / "trace.json.gz"
    damaged.write_bytes(gzip.compress(b'{"traceEvents": []}')[:10] + b"\xff" * 40)
    assert not files.looks_like_summary(damaged)
    assert not files.looks_like_summary(Path("a\0b"))
    assert not files.looks_like_summary(tmp_path)


def test_a_place_that_cannot_be_written_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    trace = Job(dp=2).run().trace(0).write(tmp_path / "rank_0.json")
    monkeypatch.setattr("os.replace", refuse)
    result = CliRunner().invoke(advisor, ["summarize", str(trace), "-o", str(tmp_path / "s.json")])
    assert isinstance(result.exception, UsageError)
    assert (result.exception.where, result.exception.why) == (str(tmp_path / "s.json"), "Permission denied")
    assert list(tmp_path.iterdir()) == [trace]
