"""The gate fails on a real regression beyond its limit and on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.compare.comparison import compare
from analyzer.compare.gate import apply_gate, parse_gate
from analyzer.config.limit import Limit
from analyzer.report.comparison import formats
from showing import comparisons
from showing.snapshots import snapshot
from traces.errors import UsageError


@pytest.mark.parametrize(("after_ns", "passed"), [(10_000_000, True), (11_000_000, False), (9_000_000, True)])
def test_step_time(after_ns: int, passed: bool) -> None:
    comparison = compare([snapshot(10_000_000)], [snapshot(after_ns)])
    assert apply_gate(comparison, parse_gate("step_ns<=+3%")).passed is passed


def test_a_regression_within_the_limit_is_kept() -> None:
    comparison = compare([snapshot(10_000_000)], [snapshot(11_000_000)])
    assert apply_gate(comparison, parse_gate("step_ns<=+15%")).passed


def test_a_regression_that_may_be_within_the_limit_is_kept() -> None:
    before, after = ([base + place % 10 * base // 300 for place in range(30)] for base in (10_000_000, 10_900_000))
    comparison = compare([snapshot(steps_ns=tuple(before))], [snapshot(steps_ns=tuple(after))])
    assert comparison.change is not None
    assert comparison.change.kind == "slower"
    within = (comparison.change.low_ratio + comparison.change.ratio) / 2
    result = apply_gate(comparison, parse_gate(f"step_ns<=+{within * 100:.2f}%"))
    assert result.passed
    assert "but it may be" in result.lines[0]
    assert not apply_gate(comparison, parse_gate("step_ns<=+3%")).passed


def test_few_steps_never_fail() -> None:
    comparison = compare([snapshot(count=4)], [snapshot(11_000_000, count=4)])
    result = apply_gate(comparison, parse_gate("step_ns<=+3%"))
    assert result.passed
    assert "inconclusive" in result.lines[0]
    assert not result.judged


def test_sides_that_cannot_be_compared_never_fail() -> None:
    result = apply_gate(compare([snapshot(count=2)], [snapshot()]), parse_gate("step_ns<=+3%"))
    assert result.passed
    assert "not comparable" in result.lines[0]


def test_a_step_that_lacked_cores_never_fails() -> None:
    comparison = comparisons.starved()
    assert comparison.change is not None
    assert comparison.change.ratio > 4
    result = apply_gate(comparison, parse_gate("step_ns<=+3%,input_ns<=+3%"))
    assert (result.passed, result.judged) == (True, False)
    text = formats.render(comparison, result, "text")
    assert "gate passes, undecided" in text
    assert "gate kept" not in text


def test_a_cause_is_judged_as_a_share_of_the_step() -> None:
    before = snapshot(10_000_000, waterfall_ns={"compute": 9e6, "input": 1e6})
    after = snapshot(11_000_000, waterfall_ns={"compute": 9e6, "input": 2e6})
    comparison = compare([before], [after])
    assert not apply_gate(comparison, parse_gate("input_ns<=+5%")).passed
    assert apply_gate(comparison, parse_gate("input_ns<=+15%")).passed


def test_a_cause_that_grew_fails_though_the_step_as_a_whole_hides_it() -> None:
    before = snapshot(10_000_000, waterfall_ns={"compute": 9e6, "input": 1e6})
    after = snapshot(10_600_000, waterfall_ns={"compute": 7.6e6, "input": 3e6})
    result = apply_gate(compare([before], [after]), parse_gate("step_ns<=+10%,input_ns<=+10%"))
    assert not result.passed
    assert [line.partition(" ")[0] for line in result.lines] == ["kept", "FAILED"]


def test_a_file_of_limits(tmp_path: Path) -> None:
    path = tmp_path / "gate.txt"
    path.write_text("# ours\nstep_ns <= +3%\n\ninput_ns<=5%  # loading\n")
    assert parse_gate(str(path)) == (Limit("step_ns", 0.03), Limit("input_ns", 0.05))


@pytest.mark.parametrize("text", ["step_ns<=3", "stepns<=+3%", "step_ns<=+3%,nonsense<=1%", "no-such-file", "<=%"])
def test_what_is_no_limit_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        parse_gate(text)


def test_every_line_that_is_no_limit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gate.txt"
    path.write_text("# ours\nstep_ns <= 3\n\nstep_ns<=+3%\nnonsense\n")
    with pytest.raises(UsageError, match="no limits: line 2: 'step_ns <= 3'; line 5: 'nonsense'"):
        parse_gate(str(path))


def test_a_file_without_limits_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gate.txt"
    path.write_text("# none yet\n")
    with pytest.raises(UsageError, match="the gate is empty"):
        parse_gate(str(path))
