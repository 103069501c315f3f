"""Recorded pairs: a real gain is told with what it consists of, and runs of different machines get no verdict."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from analyzer.cli.main import main
from analyzer.compare.comparison import Comparison, compare
from analyzer.compare.gate import apply_gate, parse_gate
from analyzer.compare.snapshot import Snapshot, snapshot
from analyzer.explain import Options, analyse_with_facts
from running.recorded import SAMPLES, SHARED, needs_shared
from traces.progress import silent


@cache
def taken(path: Path) -> Snapshot:
    explained = analyse_with_facts(path, Options(), silent)
    assert explained.facts is not None
    return snapshot(explained.analysis, explained.facts)


def pair(folder: Path, before: str, after: str) -> Comparison:
    return compare([taken(folder / before)], [taken(folder / after)])


def kineto() -> Comparison:
    return pair(SHARED, "kineto_resnet50_workers0_a.pt.trace.json.gz", "kineto_resnet50_workers4_a.pt.trace.json.gz")


@needs_shared
def test_four_loader_workers_made_the_step_faster() -> None:
    found = kineto()
    assert found.comparable
    assert found.change is not None
    assert found.change.kind == "faster"
    assert found.change.ratio == pytest.approx(-0.289, abs=0.01)
    assert (found.before.steps, found.after.steps) == (6, 5)
    assert apply_gate(found, parse_gate("step_ns<=+3%")).passed


@needs_shared
def test_the_gain_came_from_the_loader_and_kept_what_was_promised() -> None:
    found = kineto()
    states = {row.rule: row for row in found.rules}
    gain = found.before.mean_ns - found.after.mean_ns
    for code in ("DL001", "DL002"):
        row = states[code]
        assert (row.state, row.outcome, row.left_ns) == ("fixed", "confirmed", 0)
        assert row.realised_ns == gain
        assert 0 < gain <= row.predicted_ns
    assert states["PR001"].state == "still"
    by_cause = {row.cause: row.after_ns - row.before_ns for row in found.waterfall}
    assert min(by_cause, key=lambda cause: by_cause[cause]) == "input"
    # What the loader gave back is partly taken by the host's other work, which it had hidden.
    assert by_cause["input"] < -gain
    assert by_cause["framework"] > 0


@needs_shared
def test_the_parts_add_up_on_both_sides() -> None:
    found = kineto()
    assert sum(row.before_ns for row in found.waterfall) == pytest.approx(found.before.mean_ns, abs=20)
    assert sum(row.after_ns for row in found.waterfall) == pytest.approx(found.after.mean_ns, abs=20)


@needs_shared
def test_kernels_and_ops_that_changed_most() -> None:
    found = kineto()
    for rows in (found.kernels, found.ops):
        changes = [abs(row.after_ns - row.before_ns) for row in rows]
        assert changes == sorted(changes, reverse=True)
    # Collating moved to other processes, and its ops with it.
    gone = {row.name for row in found.ops if row.after_ns < row.before_ns / 10}
    assert {"aten::div", "aten::_cat", "aten::to"} <= gone


@pytest.mark.slow
@needs_shared
def test_other_devices_and_ranks_get_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    found = pair(SHARED, "hta_trace_diff_control.json.gz", "hta_trace_diff_test.json.gz")
    assert (found.comparable, found.change) == (False, None)
    assert [(item.what, item.before, item.after) for item in found.differences if item.blocking] == [
        ("another device", "NVIDIA A100-PG509-200", "Tesla V100-SXM2-16GB"),
        ("another number of ranks", "8", "2"),
    ]
    assert all(row.outcome is None and row.realised_ns is None for row in found.rules)
    result = apply_gate(found, parse_gate("step_ns<=+3%"))
    assert result.passed
    assert "not comparable" in result.lines[0]
    both = [str(SHARED / f"hta_trace_diff_{side}.json.gz") for side in ("control", "test")]
    assert main(["compare", *both, "--gate", "step_ns<=+3%"]) == 0
    out = capsys.readouterr().out
    assert "Not comparable: another device, another number of ranks. No verdict is given." in out
    assert "Tesla V100-SXM2-16GB" in out


def test_six_steps_of_our_own_pair_are_too_few_for_a_small_change() -> None:
    found = pair(SAMPLES, "cnn_workers0.json.gz", "cnn_workers2.json.gz")
    assert found.comparable
    assert found.change is not None
    assert found.change.kind == "inconclusive"
    assert found.change.needed_steps is not None
    states = {row.rule: (row.state, row.outcome) for row in found.rules}
    assert states["DL001"] == states["DL002"] == ("fixed", None)
    by_cause = {row.cause: row.after_ns - row.before_ns for row in found.waterfall}
    assert by_cause["input"] < 0


def test_a_snapshot_says_which_findings_share_time() -> None:
    shared = {one.rule: one.overlaps_with for one in taken(SAMPLES / "baseline.json.gz").findings}
    assert shared["DL006"] == ("DL001", "DL002", "DL007")
    assert shared["OP001"] == ()
