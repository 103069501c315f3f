"""Summaries of ranks and documents of jobs are handed around: nothing private is in them unless that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analyzer.cli.main import main
from analyzer.job.one import summary_of
from analyzer.ranks.files import decode, encode
from analyzer.ranks.summary import CollectiveColumns, StepPart
from analyzer.report.redact import Project
from analyzer.report.redact.summaries import redact_summary
from building.builders import TraceBuilder
from jobs.gloo_mesh import mesh
from jobs.simulated import Job
from traces.errors import UnreadableTraceError

# Each is looked for in what is written, in the text that holds it.
PLANTED = {
    "hunter2": '{"password": "hunter2"}', "carol": "/home/carol/secret-project/x.py(3): go", "node07": "on gpu-a100-node07",
    "bob@corp": "by bob@corp.example", "ghp_a1B2": "ghp_" + "a1B2" * 9, "170 1234567": "call +49 170 1234567",
}  # fmt: skip
# What the profiler's handler calls a file by.
MACHINE = "acme-host"


def _ranks(folder: Path, text: str) -> list[Path]:
    """Two ranks that differ in one kernel, the text wherever a trace can hold one and a summary takes it from."""
    paths = []
    for rank in (0, 1):
        group = {"pg_name": "0", "pg_desc": f"default_pg {text}", "ranks": [0, 1]}
        top = {"distributedInfo": {"rank": rank, "world_size": 2, "backend": "nccl", "pg_config": [group]}}
        builder = TraceBuilder(top=top | {"host_name": MACHINE})
        for number in range(12):
            at = number * 10_000.0
            builder.step(number, at, 10_000)
            builder.launch(
                at + 100, kernel_start=at + 200, kernel_dur=3_000.0 * (1 + rank), name=f"kernel {'x' * 100} {text}"
            )
            # The one that works less waits for the other.
            begun = 3_600 + 3_000 * rank
            builder.launch(
                at + 6_500 if rank else at + 3_500, kernel_start=at + begun, kernel_dur=9_900 - begun,
                name="ncclDevKernel_AllReduce_Sum_f32",
            )  # fmt: skip
        paths.append(builder.write(folder / f"{MACHINE}_{rank}.1700000000.pt.trace.json"))
    return paths


def _summaries(traces: list[Path], *more: str) -> list[Path]:
    made = [trace.with_name(f"r{rank}.summary.json") for rank, trace in enumerate(traces)]
    for trace, path in zip(traces, made, strict=True):
        assert main(["summarize", str(trace), "-o", str(path), *more]) == 0
    return made


def _found(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return [secret for secret in (*PLANTED, MACHINE) if secret in text]


@pytest.mark.parametrize("planted", [*PLANTED.values(), "; ".join(PLANTED.values())])
def test_nothing_private_is_in_a_summary(planted: str, tmp_path: Path) -> None:
    for path in _summaries(_ranks(tmp_path, planted)):
        assert _found(path) == []
        # What ranks are held against each other by is still there.
        assert len(decode(path.read_bytes(), "summary").collectives.start_ns) == 12


def test_nothing_private_is_in_groups_that_a_trace_states_alone(tmp_path: Path) -> None:
    rank = mesh()[0]
    for group in rank.top["distributedInfo"]["pg_config"]:
        group["pg_desc"] += f" {PLANTED['carol']}"
    (path,) = _summaries([rank.write(tmp_path / "rank0.json")])
    assert _found(path) == []
    stated = decode(path.read_bytes(), "summary").stated_groups
    assert [one.ranks for one in stated] == [(0, 1, 2, 3), (0, 2), (0, 1)]


def test_all_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    for path in _summaries(_ranks(tmp_path, PLANTED["hunter2"][:40]), "--no-redact"):
        assert {"hunter2", MACHINE} <= set(_found(path))


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_nothing_private_is_in_the_document_of_a_job(form: str, tmp_path: Path) -> None:
    traces = _ranks(tmp_path, "; ".join(PLANTED.values()))
    whole = _summaries(traces, "--no-redact")
    for ranks in (traces, whole):
        report = tmp_path / f"report.{form}"
        assert main(["explain", *map(str, ranks), "-o", str(report)]) == 0
        assert _found(report) == []
        if form == "json":
            # Names of kernels are keys there.
            contrast = json.loads(report.read_bytes())["job"]["contrast"]
            assert any(name.startswith("kernel x") for name in contrast["kernels"])
        report.unlink()


def test_a_secret_is_not_cut_before_it_is_recognised(tmp_path: Path) -> None:
    # The name is cut at 160 characters, eight behind the beginning of the key.
    name = "k" * 151 + " ghp_" + "a1B2" * 9
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
        builder.launch(number * 1_000 + 10, kernel_start=number * 1_000 + 20, kernel_dur=500, name=name)
    summary = summary_of(builder.write(tmp_path / "t.json"))
    shown = decode(encode(redact_summary(summary, Project())), "summary")
    assert [row.name for row in shown.kernels] == ["k" * 151 + " [redacte"]


def test_two_groups_do_not_become_one() -> None:
    summary = Job(dp=2, tp=2).run().summary(0)
    names = ["gpu-a100-node07", "gpu-a100-node08", *(group.name for group in summary.groups[2:])]
    groups = tuple(
        msgspec.structs.replace(group, name=name) for group, name in zip(summary.groups, names, strict=False)
    )
    shown = redact_summary(msgspec.structs.replace(summary, groups=groups), Project())
    assert [group.name for group in shown.groups] == [None, None, *names[2:]]
    assert [group.ranks for group in shown.groups] == [group.ranks for group in groups]
    assert shown.collectives == summary.collectives


def test_what_tells_nothing_stays() -> None:
    summary = Job(dp=2, tp=2).run().summary(1)
    assert redact_summary(summary, Project()) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "ghp_" + "a1B2" * 9},
        {"tail_ns": {"ghp_" + "a1B2" * 9: 7}},
        {"steps": (StepPart(number=0, start_ns=0, dur_ns=9, causes={"ghp_" + "a1B2" * 9: 9}),)},
        {"collectives": CollectiveColumns(own_ns={"ghp_" + "a1B2" * 9: []})},
    ],
)
def test_what_is_shown_as_it_is_may_be_nothing_else(change: dict[str, Any], tmp_path: Path) -> None:
    empty = {"steps": (), "collectives": CollectiveColumns(), "tail_ns": {"python": 3}}
    plain = msgspec.structs.replace(Job(dp=2).run().summary(0), **empty)
    assert decode(encode(plain), "summary") == plain
    with pytest.raises(UnreadableTraceError) as caught:
        decode(encode(msgspec.structs.replace(plain, **change)), "summary")
    assert "a1B2" not in str(caught.value)
