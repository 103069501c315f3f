"""PG005 where ops were left out of a file: their numbers have holes."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity
from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules import RULES
from rules.python.python_overhead import RULE as PY001
from running.one_rule import run

NVJET = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"


def loop(kernel_us: float = 30) -> Clocked:
    """Four steps of ops of 20 us, each with its launch and a kernel; those of the forward pass each in a range."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(60):
            with world.inside("## block ##"):
                world.kernel_of("aten::linear", NVJET, kernel_us, host=20)
        with world.backward():
            for _ in range(60):
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", NVJET, kernel_us, host=20)
        world.synchronize()
    return world


def numbered(builder: TraceBuilder) -> TraceBuilder:
    """Ops and ranges numbered as they begin, as torch does."""
    spans = sorted(
        (one for one in builder.events if one["cat"] in ("cpu_op", "user_annotation")), key=lambda one: one["ts"]
    )
    for number, one in enumerate(spans, start=1):
        one.setdefault("args", {})["External id"] = number
    return builder


def thinned(builder: TraceBuilder, *, keep: int) -> TraceBuilder:
    """One launch in so many kept, with the ops around it and its kernel."""
    calls = [one for one in builder.events if one["name"] == "cudaLaunchKernel"]
    kept = calls[::keep]
    correlations = {one["args"]["correlation"] for one in kept}
    places = [one["ts"] for one in kept]

    def stays(one: dict[str, object]) -> bool:
        if one["cat"] == "cpu_op" or one["name"] == "## block ##":
            return any(one["ts"] <= at < one["ts"] + one["dur"] for at in places)  # type: ignore[operator]
        if one["cat"] == "kernel" or one["name"] == "cudaLaunchKernel":
            return one["args"]["correlation"] in correlations  # type: ignore[index]
        return True

    builder.events[:] = [one for one in builder.events if stays(one)]
    return builder


def test_what_is_missing_is_said() -> None:
    facts = Facts(thinned(numbered(loop()), keep=7).trace())
    (symptom,) = [one for one in facts.health.symptoms if "by their numbers" in one.message]
    assert (symptom.code, symptom.gravity) == ("PG005", Gravity.CAUTION)
    found = facts.health.thinned
    assert found is not None
    assert found.ratio == pytest.approx(6 / 7, abs=0.02), "one in seven is there"
    said = explain_facts(facts, rules=RULES).analysis.summary.verdict
    assert said.bound_by == "unknown"
    assert "what was left out looks like idle time" in said.text


def test_time_between_ops_that_were_left_out_is_not_the_programs() -> None:
    world = thinned(numbered(loop(kernel_us=6)), keep=7)
    result = run(PY001, world)
    assert result.state is State.CANNOT_TELL, "it may be theirs"
    assert "by their numbers" in result.reason
    for one in world.events:
        if one["cat"] == "cpu_op":
            del one["args"]["External id"]
    assert run(PY001, world).state is State.FIRED, "without numbers nothing tells"


def test_a_whole_file_has_no_holes() -> None:
    facts = Facts(numbered(loop()).trace())
    assert facts.health.thinned is None, "ranges are numbered with the ops"
    assert explain_facts(facts, rules=RULES).analysis.summary.verdict.bound_by == "compute"


@pytest.mark.parametrize(("keep", "mostly"), [(1, None), (3, True), (7, True)])
def test_what_part_is_missing(keep: int, mostly: bool | None) -> None:
    found = Facts(thinned(numbered(loop()), keep=keep).trace()).health.thinned
    assert (found.mostly if found is not None else None) is mostly


def test_blocks_of_other_threads_are_no_holes() -> None:
    world = numbered(loop())
    for one in world.events:
        if one["cat"] in ("cpu_op", "user_annotation"):
            # Numbers are given to threads in blocks of 1,024; those of a thread that is not recorded lie between.
            one["args"]["External id"] += one["args"]["External id"] // 500 * 1_024
    assert Facts(world.trace()).health.thinned is None
