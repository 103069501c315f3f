"""`advisor compare` and `advisor baseline`, run for real on built traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.cli.main import main
from builders import TraceBuilder


def write(path: Path, *, step_us: float, wait_us: float = 0, steps: int = 24) -> Path:
    """A training loop with the given step time, of which it waits for data."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * step_us
        # Steps of measured loops are never equal.
        busy = step_us - wait_us - 100 - number % 4 * 10
        builder.step(number, at, step_us)
        if wait_us:
            builder.loader(at, wait_us)
        builder.launch(at + wait_us, kernel_start=at + wait_us + 10, kernel_dur=busy)
    return builder.write(path)


def test_a_fixed_loader_is_confirmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write(tmp_path / "before.json", step_us=10_000, wait_us=4_000)
    after = write(tmp_path / "after.json", step_us=6_000)
    assert main(["compare", str(before), str(after)]) == 0
    out = capsys.readouterr().out
    assert "40.0 % faster" in out
    assert "DL001" in out
    assert "confirmed: 4.0 ms faster" in out


def test_the_gate_fails_on_a_regression_and_its_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write(tmp_path / "before.json", step_us=10_000)
    after = write(tmp_path / "after.json", step_us=11_500)
    assert main(["compare", str(before), str(after), "--gate", "step_ns<=+3%", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["change"]["kind"] == "slower"
    assert document["gate"]["passed"] is False
    assert main(["compare", str(after), str(before), "--gate", "step_ns<=+3%"]) == 0


def test_folders_are_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, step in (("before", 10_000), ("after", 10_010)):
        (tmp_path / side).mkdir()
        for run in range(3):
            write(tmp_path / side / f"run{run}.json", step_us=step + run)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["before"]["runs"], document["before"]["steps"]) == (3, 72)
    assert document["change"]["kind"] == "unchanged"


def test_a_baseline_stands_for_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "before.json", step_us=10_000, wait_us=4_000)
    write(tmp_path / "after.json", step_us=6_000)
    assert main(["baseline", "save", "main", "before.json"]) == 0
    assert main(["baseline", "list"]) == 0
    assert main(["compare", "--baseline", "main", "after.json", "-o", "report.md"]) == 0
    assert "main: 1 run, 24 steps, mean 10 ms" in capsys.readouterr().out
    report = (tmp_path / "report.md").read_text()
    assert report.startswith("### 10 ms -> 6.0 ms a step (mean of 24 and 24 steps)")
    assert "`DL001 Data loader keeps training waiting`" in report


@pytest.mark.parametrize("arguments", [[], ["one.json"], ["a.json", "b.json", "c.json"]])
def test_an_unclear_call_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    assert "before" in capsys.readouterr().err


def test_an_empty_folder_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    trace = write(tmp_path / "t.json", step_us=10_000, steps=3)
    assert main(["compare", str(tmp_path / "empty"), str(trace)]) == 2


def test_hostile_names_stay_text_in_markdown(tmp_path: Path) -> None:
    name = "`|<b>@all|`\x1b[31m"
    for side, step in (("before", 10_000.0), ("after", 5_000.0)):
        builder = TraceBuilder()
        for number in range(4):
            at = number * step
            builder.step(number, at, step)
            builder.launch(at, kernel_start=at + 10, kernel_dur=step - 100, name=name)
        builder.write(tmp_path / f"{side}.json")
    target = tmp_path / "report.md"
    assert main(["compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"), "-o", str(target)]) == 0
    (row,) = [line for line in target.read_text().splitlines() if "@all" in line]
    assert "\x1b" not in row
    assert row.startswith("| `` `\\|<b>@all\\|`\\x1b[31m `` |")
