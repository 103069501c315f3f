"""From facts and findings to the one document: exact sums, complete keys, nothing that is not on the allow-list."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.assemble import assemble
from analyzer.assemble.trace_info import trace_info
from analyzer.cause_names import CAUSES
from analyzer.engine import judge, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Bar, Bars, Column, Figure, Location, Saving, Series, Table, clear
from analyzer.page import recording
from analyzer.report.json import render
from analyzer.report.schema import schema
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder
from running.json_schema import jsonschema
from running.made_rules import claim, finding, rule
from showing import analyses
from traces.trace import Repair, Trace


def world(**changes: Any) -> TraceBuilder:
    """Five steps, the first slow: loader, wait, kernel; no duration is a round number."""
    builder = TraceBuilder(**changes)
    at = 0.0
    for number, dur in enumerate([300.017, 100.003, 101.011, 99.019, 100.007], start=7):
        builder.step(number, at, dur)
        builder.loader(at, 40.333)
        builder.launch(at + 50, kernel_start=at + 50.77, kernel_dur=dur - 55.555)
        at += dur
    return builder


def evidence() -> tuple[Bars, Series, Table]:
    return (
        Bars("bars", "ns", (Bar("a", 1), Bar("b", 2.5))),
        Series("series", "ratio", (0.1, 0.2)),
        Table("table", (Column("name", "text"), Column("n", "count")), (("x", 1), (None, 2))),
    )


def document(trace: Trace | TraceBuilder, *savings: Saving, accepted: dict[str, str] | None = None) -> Analysis:
    facts = Facts(trace.trace() if isinstance(trace, TraceBuilder) else trace)
    rules = [
        rule(f"AA{n:03}", finding(saving, evidence=evidence(), location=Location("train.py", n, None)))
        for n, saving in enumerate(savings)
    ]
    rules.append(rule("ZZ001", clear("ok")))
    trust = grade(facts)
    runs = run_rules(facts, rules, trust)
    return assemble(facts, trust, runs, judge(facts, runs, trust), accepted)


def valid(analysis: Analysis) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(render(analysis))
    jsonschema.Draft202012Validator(schema()).validate(made)
    return made


def test_the_waterfall_adds_up_exactly() -> None:
    summary = document(world()).summary
    assert sum(part.ns for part in summary.waterfall) == summary.window_ns
    assert [part.cause for part in summary.waterfall] == list(CAUSES)
    assert sum(part.ratio for part in summary.waterfall) == pytest.approx(1)
    assert summary.step_ns.mean == summary.window_ns // summary.used_steps


def test_each_step_adds_up_exactly_used_or_not() -> None:
    steps = document(world()).steps
    assert [row.used for row in steps] == [False, True, True, True, True]
    assert all(sum(part.ns for part in row.causes) == row.dur_ns for row in steps)
    assert "warm-up" in (steps[0].reason or "")


def test_each_device_adds_up_exactly() -> None:
    builder = world()
    builder.launch(410, kernel_start=420, kernel_dur=30, device=1)
    made = document(builder)
    assert [device.device for device in made.summary.devices] == ["0", "1"]
    for device in made.summary.devices:
        assert sum(part.ns for part in device.waterfall) == made.summary.window_ns
    assert made.summary.devices[0].waterfall == made.summary.waterfall


def test_of_many_steps_left_out_the_first_are_listed_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TraceBuilder()
    for number in range(12):
        builder.step(number, number * 10_000, 10_000).op("aten::mm", number * 10_000, 9_000)
    facts = Facts(builder.trace(), (8, 9))
    every = trace_info(facts).steps
    assert (len(every.excluded), every.more_excluded) == (every.count - every.used, 0)
    monkeypatch.setattr(sys.modules[trace_info.__module__], "MOST_EXCLUDED", 4)
    cut = trace_info(facts).steps
    assert cut.excluded == every.excluded[:4]
    assert len(cut.excluded) + cut.more_excluded == len(every.excluded) > 4
    told = analyses.example(trace=analyses.trace_info(steps=cut))
    assert recording.excluded(told)[-1] == f"{len(every.excluded) - 4} more left out"


def test_the_document_follows_the_schema_and_survives_json() -> None:
    trace = msgspec.structs.replace(
        world(advisor={"unprofiled_step_ns": 90_000, "versions": {"torch": "2.13.0", "python": "3.11.7"}}).trace(),
        repairs=(Repair("invalid-number", 2, 17, "two numbers", 3),),
    )
    made = valid(document(trace, claim((310, 340)), Saving()))
    assert made["summary"]["unprofiled_step_ns"] == 90_000
    assert made["trace"]["versions"] == {"torch": "2.13.0", "cuda": "12.6", "rocm": None, "python": "3.11.7"}
    assert made["trace"]["device"] == {"kind": "cuda", "name": "NVIDIA H100 80GB HBM3", "count": 1}
    assert made["trace"]["steps"]["excluded"][0]["step"] == 7
    assert made["repairs"] == [
        {"kind": "invalid-number", "count": 2, "first_offset": 17, "first_event": 3, "message": "two numbers"}
    ]
    assert made["totals"] == []
    assert [check["state"] for check in made["checks"]] == ["fired", "fired", "clear"]


def test_a_finding_carries_everything_the_rule_said() -> None:
    (found,) = document(world(), claim((310, 340))).findings
    assert (found.rule, found.rank, found.steps.seen, found.steps.of) == ("AA000", 1, 4, 4)
    assert (found.location.file, found.location.line, found.location.function) == ("train.py", 0, None)
    assert [type(piece).__name__ for piece in found.evidence][:3] == ["Bars", "Series", "Table"]
    assert found.saving.ns_per_step_max == 7_500


def test_claims_in_the_drawn_step_are_shown_relative_to_it() -> None:
    made = document(world())
    drawn = next(row for row in made.steps if row.step == made.timeline.step)
    start = drawn.start_ns // 1_000
    (found,) = document(world(), claim((start + 10, start + 20))).findings
    where = found.evidence[-1]
    assert (where.title, where.step) == (f"where in step {made.timeline.step}", made.timeline.step)
    (span,) = where.spans
    assert span[1] - span[0] == 10_000
    # Of a saving that is shorter kernels for the most part the places are those of the rest.
    shorter = msgspec.structs.replace(claim((start + 10, start + 20)), kernel_ns=11_000)
    assert document(world(), shorter).findings[0].evidence[-1].title == f"{where.title}, outside its kernels"
    assert 9_000 <= span[0] <= 10_000


def test_pieces_beyond_those_shown_are_counted() -> None:
    made = document(world())
    drawn = next(row for row in made.steps if row.step == made.timeline.step)
    start = drawn.start_ns / 1_000
    spans = [(start + 1 + index / 5, start + 1.1 + index / 5) for index in range(230)]
    (found,) = document(world(), claim(*spans)).findings
    where = found.evidence[-1]
    assert (len(where.spans), where.pieces, where.left_out) == (200, 230, 30)
    assert where.total_ns == pytest.approx(23_000, rel=0.05)


def test_reachable_is_the_step_less_what_is_claimed() -> None:
    summary = document(world(), claim((310, 330)), claim((320, 350))).summary
    assert summary.reachable_step_ns == (summary.window_ns - 40_000) // 4


def test_a_cpu_only_trace() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 100, 100)
        builder.op("aten::mm", number * 100, 75)
    made = document(builder)
    summary = valid(made)["summary"]
    assert (summary["gpu_busy_ratio"], summary["compute_ratio"], summary["devices"]) == (None, 0.75, [])
    assert made.trace.device.kind == "cpu"
    assert summary["verdict"]["bound_by"] == "compute"


@pytest.mark.parametrize(
    ("device", "measured", "expected"),
    [
        ("cpu", True, ("estimate", 20_000, 40_000, 50_000)),
        # No pair was about this rule: nothing is known but the estimate itself.
        ("cpu", False, ("estimate", None, None, 40_000)),
        # On a device the figure is a bound, whatever the CPU's pairs say.
        ("cuda", True, ("bound", None, None, 40_000)),
    ],
)
def test_a_range_is_that_of_pairs_of_the_rule_itself(
    device: str, measured: bool, expected: tuple[str, int | None, int | None, int]
) -> None:
    builder = TraceBuilder() if device == "cuda" else TraceBuilder(None)
    for number in range(5):
        at = number * 100
        builder.step(number, at, 100).op("aten::mm", at + 1, 95)
        if device == "cuda":
            builder.launch(at + 1, kernel_start=at + 60, kernel_dur=30)
    facts = Facts(builder.trace())
    claimed = claim(*((number * 100 + 10, number * 100 + 50) for number in range(5)))
    trust = grade(facts)
    runs = run_rules(facts, [rule("AA000", finding(claimed), measured=measured)], trust)
    (found,) = assemble(facts, trust, runs, judge(facts, runs, trust)).findings
    saving = found.saving
    figures = (saving.kind, saving.ns_per_step_min, saving.ns_per_step_expected, saving.ns_per_step_max)
    assert figures == expected


def test_a_trace_without_marks() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=90)
    made = valid(document(builder))
    assert (made["trace"]["steps"]["source"], made["trace"]["steps"]["count"]) == ("whole-trace", 0)
    assert made["trust"]["reasons"][0]["code"] == "PG001"


def test_an_unusable_trace_gets_reasons_and_no_findings() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    for index in range(30):
        builder.op("aten::add", index * 10, 5)
        builder.runtime("cudaLaunchKernel", index * 10, 5)
    made = valid(document(builder, claim((0, 500))))
    assert (made["trust"]["verdict"], made["findings"], made["summary"]["verdict"]["bound_by"]) == (
        "unusable",
        [],
        "unknown",
    )
    assert made["summary"]["reachable_step_ns"] == made["summary"]["step_ns"]["mean"]


def test_an_empty_window() -> None:
    made = valid(document(TraceBuilder().step(0, 0, 0)))
    assert (made["summary"]["window_ns"], made["timeline"]["lanes"]) == (0, [])


def test_nothing_of_the_file_but_what_is_allowed_is_copied() -> None:
    secret = {"host_name": "secret-host", "metadata": {"TOKEN": "secret-token"}, "traceName": "/home/secret/trace.json"}
    made = render(document(world(top=secret | {"distributedInfo": {"rank": 3, "pg_config": "secret-group"}})))
    assert "secret" not in made
    assert json.loads(made)["trace"]["ranks"] == [3]


@pytest.mark.parametrize(
    ("top", "versions"),
    [
        ({"cuda_runtime_version": 12060}, ("12.6", None)),
        ({"cuda_runtime_version": "12.6"}, (None, None)),
        ({"cuda_runtime_version": None, "hip_runtime_version": 60342134}, (None, "6.3")),
        ({"cuda_runtime_version": 0, "hip_runtime_version": 60_300}, (None, None)),
    ],
)
def test_versions_as_the_runtimes_count(top: dict[str, Any], versions: tuple[str | None, str | None]) -> None:
    found = document(world(top=top)).trace.versions
    assert (found.cuda, found.rocm) == versions


def test_a_pause_in_one_step_is_not_said_of_all() -> None:
    builder, at = TraceBuilder(), 0
    for number in range(8):
        dur = 400_000 if number == 4 else 10_000
        builder.step(number, at, dur)
        builder.launch(at, kernel_start=at + 5, kernel_dur=9_900)
        at += dur
    found = document(builder).summary.verdict
    assert found.bound_by == "python"
    assert found.text.startswith("Held up by pauses: for 83 % of the recorded time the program stops, in 1 of 8 steps")


def test_an_idle_server_is_not_told_from_a_slow_program() -> None:
    builder = TraceBuilder()
    for number in range(6):
        at = number * 50_000
        builder.annotation("execute_model", at, 10_000)
        builder.launch(at, kernel_start=at + 5, kernel_dur=9_000)
    text = document(builder).summary.verdict.text
    assert "Or it waits for requests" in text
    # Behind what the model takes it read as if the model waited.
    assert ", or waits" not in text


def test_waiting_launches_are_no_slow_dispatch() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for index in range(10):
            start = at + index * 1_000
            builder.op("aten::mm", start, 990)
            builder.launch(start + 200, kernel_start=start + 210, kernel_dur=200, call_dur=250, op=None)
    found = document(builder).summary.verdict
    assert (found.bound_by, found.text[:11]) == ("sync", "Sync-bound:")


@pytest.mark.parametrize(
    ("unprofiled", "expected"),
    [(None, None), (120_000, 0.4), (100_000, 0.4), (75_000, 0.4 / 0.75), (20_000, None), (0, None)],
)
def test_of_a_step_without_the_profiler_a_saving_is_a_larger_share(
    unprofiled: int | None, expected: float | None
) -> None:
    # 40 us of steps of 100 us; what the profiler adds is taken from the rest of the step, as long as there is so much of it.
    builder = TraceBuilder(advisor={"profiled_step_ns": 100_000, "unprofiled_step_ns": unprofiled})
    for number in range(4):
        builder.step(number, number * 100, 100)
        builder.launch(number * 100, kernel_start=number * 100 + 41, kernel_dur=59)
    trace = builder.trace()
    claims = IntervalSet.of((number * 100_000, number * 100_000 + 40_000) for number in range(4))
    saving = document(trace, Saving(claims=claims, basis="b")).findings[0].saving
    assert saving.ratio_max == pytest.approx(0.4)
    assert saving.unprofiled_ratio == (expected if expected is None else pytest.approx(expected))
    assert ("without the profiler" in saving.basis) is ((expected or 0) > 0.4)
    assert ("no saving without it is stated" in saving.basis) is saving.of_recorded is (unprofiled == 20_000)


@pytest.mark.parametrize(
    ("unprofiled", "inside", "expected"),
    [
        (90_000, 9, 0.31 / 0.9), (90_000, 5, 0.35 / 0.9), (90_000, 0, 0.4 / 0.9),
        # Two fifths of the step and more would be the profiler's: nothing would be left to save, and nobody knows.
        (56_000, 9, 0.004 / 0.56), (55_000, 9, None), (50_000, 9, None),
    ],
)  # fmt: skip
def test_of_an_estimate_the_profiler_slowed_what_it_recorded(
    unprofiled: int, inside: int, expected: float | None
) -> None:
    """A part of the step is the profiler's; of ten ops so many lie in the 40 % that are saved."""
    builder = TraceBuilder(device=None, advisor={"profiled_step_ns": 100_000, "unprofiled_step_ns": unprofiled})
    for number in range(4):
        builder.step(number, number * 100, 100)
        for place in range(10):
            builder.op("aten::add", number * 100 + (place if place < inside else 60 + place) + 1, 0.5)
    claims = IntervalSet.of((number * 100_000, number * 100_000 + 40_000) for number in range(4))
    saving = Saving(claims=claims, basis="b", kind=Figure.ESTIMATE)
    found = document(builder.trace(), saving).findings[0].saving
    assert found.unprofiled_ratio == (expected if expected is None else pytest.approx(expected))
    assert ("no saving without it is stated" in found.basis) is found.of_recorded is (expected is None)
