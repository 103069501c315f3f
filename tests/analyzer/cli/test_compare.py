"""`advisor compare` and `advisor baseline`, run for real on built traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.cli.main import main
from building.builders import TraceBuilder
from showing.comparisons import write_run


def test_a_fixed_loader_is_confirmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write_run(tmp_path / "before.json", step_us=10_000, wait_us=4_000)
    after = write_run(tmp_path / "after.json", step_us=6_000)
    assert main(["compare", str(before), str(after)]) == 0
    out = capsys.readouterr().out
    assert "40.0 % faster" in out
    assert "DL001" in out
    assert "confirmed: 4.0 ms faster" in out


def test_the_gate_fails_on_a_regression_and_its_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_run(tmp_path / "before.json", step_us=10_000)
    after = write_run(tmp_path / "after.json", step_us=11_500)
    assert main(["compare", str(before), str(after), "--gate", "step_ns<=+3%", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["change"]["kind"] == "slower"
    assert document["gate"]["passed"] is False
    assert main(["compare", str(after), str(before), "--gate", "step_ns<=+3%"]) == 0


def write_clocked(path: Path, *, step_us: float, clock_mhz: float | None) -> Path:
    """Steps whose kernel takes all of them, on a device at a clock; None where no counter was recorded."""
    builder = TraceBuilder()
    for number in range(30):
        at = number * step_us
        builder.step(number, at, step_us)
        builder.op("aten::mm", at + 10, 20)
        builder.launch(at + 12, kernel_start=at + 40, kernel_dur=step_us - 60, op=None)
        if clock_mhz is not None:
            builder.counter("SM Clock (MHz)", at + 100, clock_mhz)
    return builder.write(path)


@pytest.mark.parametrize(
    ("clocks", "doubt", "code"),
    [
        ((1_500, 1_250), "clock", 0), ((1_500, 1_500), None, 1), ((1_500, 1_490), None, 1), ((1_500, None), None, 1),
        ((None, None), None, 1),
    ],
)  # fmt: skip
def test_the_gate_does_not_judge_pairs_at_two_clocks(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    clocks: tuple[float | None, float | None],
    doubt: str | None,
    code: int,
) -> None:
    """A fifth slower at a sixth less clock: the clock may have done it, and no gate can say."""
    before = write_clocked(tmp_path / "before.json", step_us=1_000, clock_mhz=clocks[0])
    after = write_clocked(tmp_path / "after.json", step_us=1_200, clock_mhz=clocks[1])
    assert main(["compare", str(before), str(after), "--gate", "step_ns<=+3%", "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["change"]["doubt"] == doubt
    assert document["change"]["kind"] == ("slower" if doubt is None else "inconclusive")


@pytest.mark.parametrize("locked", [True, False])
def test_a_clock_that_recording_locked_is_doubted_at_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], locked: bool
) -> None:
    """The same steps, a fifth longer where the activity of the units was recorded besides."""
    before = write_clocked(tmp_path / "before.json", step_us=1_000, clock_mhz=None)
    after = write_clocked(tmp_path / "after.json", step_us=1_200, clock_mhz=None)
    if locked:
        document = json.loads(after.read_text())
        sample = {"ph": "C", "name": "SM Active (%)", "pid": "GPU 0 Counters", "ts": 100.0, "args": {"": 71.5}}
        document["traceEvents"].append(sample)
        after.write_text(json.dumps(document))
    code = main(["compare", str(before), str(after), "--gate", "step_ns<=+3%"])
    out = " ".join(capsys.readouterr().out.split())
    assert code == (0 if locked else 1)
    assert (
        "metrics that lock the device's clock were recorded after only; lock the clock on both sides" in out
    ) is locked
    assert ("gate passes, undecided" in out) is locked


def test_folders_are_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, step in (("before", 10_000), ("after", 10_010)):
        (tmp_path / side).mkdir()
        for run in range(3):
            write_run(tmp_path / side / f"run{run}.json", step_us=step + run)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["before"]["runs"], document["before"]["steps"]) == (3, 72)
    assert document["change"]["kind"] == "unchanged"


def test_a_baseline_stands_for_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "before.json", step_us=10_000, wait_us=4_000)
    write_run(tmp_path / "after.json", step_us=6_000)
    assert main(["baseline", "save", "main", "before.json"]) == 0
    assert "in place of" not in capsys.readouterr().out
    assert main(["baseline", "save", "main", "before.json"]) == 0
    assert "main.json, in place of what was kept under that name" in capsys.readouterr().out
    assert main(["baseline", "list"]) == 0
    assert main(["compare", "--baseline", "main", "after.json", "-o", "report.md"]) == 0
    assert "main: 1 run, 24 steps, mean 10 ms" in capsys.readouterr().out
    report = (tmp_path / "report.md").read_text()
    assert report.splitlines()[1] == "### 10 ms → 6.0 ms a step (mean of 24 and 24 steps)"
    assert "`DL001 Data loader keeps the program waiting`" in report
    assert main(["compare", "--baseline", "main", "after.json"]) == 0
    assert capsys.readouterr().out.startswith("baseline main → after.json\n"), "what is kept calls it run 1"


@pytest.mark.parametrize("arguments", [[], ["one.json"], ["a.json", "b.json", "c.json"]])
def test_an_unclear_call_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    assert "before" in capsys.readouterr().err


def test_an_empty_folder_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    trace = write_run(tmp_path / "t.json", step_us=10_000, steps=3)
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


def test_several_documents_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = write_run(tmp_path / "b.json", step_us=10_000), write_run(tmp_path / "a.json", step_us=11_500)
    names = ["r.md", "r.html", "r.json", "r.txt"]
    arguments = [part for name in names for part in ("-o", str(tmp_path / name))]
    assert main(["compare", str(before), str(after), *arguments, "--gate", "step_ns<=+3%"]) == 1
    starts = [(tmp_path / name).read_text(encoding="utf-8")[:4] for name in names]
    assert starts == ["<!--", "<!do", "{\n  ", "b.js"]
    assert capsys.readouterr().err.count("wrote ") == len(names)
    for name in ("r.html", "r.json"):
        assert main(["explain", str(tmp_path / name)]) == 3
        assert "is a comparison of two runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "a.md", "-o", "./a.md"], "one place"),
        (["-o", "a.svg"], "no svg of this"),
        (["-o", "before.json"], "replace the trace"),
        (["--gate", "step_ns<=3"], "no limits"),
    ],
)
def test_a_wrong_call_is_told_before_a_trace_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.json").write_text("no trace")
    assert main(["compare", "before.json", "after.json", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_the_log_of_github_and_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = write_run(tmp_path / "b.json", step_us=10_000), write_run(tmp_path / "a.json", step_us=11_500)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["compare", str(before), str(after), "--format", "github", "--gate", "step_ns<=+3%"]) == 1
    assert capsys.readouterr().out.startswith("::error title=advisor 10 ms → 12 ms")
    assert "Gate **failed**" in summary.read_text()


def test_the_gate_of_the_configuration_holds_unless_the_call_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "b.json", step_us=10_000)
    write_run(tmp_path / "a.json", step_us=11_500)
    (tmp_path / "advisor.toml").write_text('gate = ["step_ns<=+3%"]\n')
    assert main(["compare", "b.json", "a.json"]) == 1
    assert main(["compare", "b.json", "a.json", "--gate", "step_ns<=+20%"]) == 0
    assert main(["compare", "b.json", "a.json", "--isolated"]) == 0
    (tmp_path / "advisor.toml").write_text('gate = ["step<=+3%"]\n')
    assert main(["compare", "b.json", "a.json"]) == 2


def test_what_cannot_be_read_or_trusted_has_its_own_exit_code(tmp_path: Path) -> None:
    """Wrong usage before an unreadable file before an untrusted one before the gate."""
    good, slow = write_run(tmp_path / "b.json", step_us=10_000), write_run(tmp_path / "a.json", step_us=11_500)
    gate = ["--gate", "step_ns<=+3%"]
    assert main(["compare", str(good), str(tmp_path / "none.json"), *gate]) == 3
    builder = TraceBuilder()
    for number in range(24):
        builder.step(number, number * 10_000, 10_000)
        builder.launch(number * 10_000, kernel_start=number * 10_000 + 10, kernel_dur=100)
        for call in range(4):
            builder.runtime("cudaLaunchKernel", number * 10_000 + 1_000 * (call + 1), 10)
    lost = builder.write(tmp_path / "lost.json")
    assert main(["compare", str(lost), str(slow), *gate]) == 4
    assert main(["compare", str(good), str(slow), *gate]) == 1
    assert main(["compare", str(lost), str(tmp_path / "none.json"), "--gate", "nonsense"]) == 2
    assert main(["compare", str(lost), str(tmp_path / "none.json"), *gate]) == 3


def test_outputs_and_baselines_tell_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = "/home/bob/data/ghp_0123456789abcdefABCDEF/kernel.cu"
    for side, step in (("before", 10_000.0), ("after", 5_000.0)):
        builder = TraceBuilder()
        for number in range(24):
            at = number * step
            builder.step(number, at, step)
            builder.launch(at, kernel_start=at + 10, kernel_dur=step - 100 - number % 4 * 10, name=secret)
        builder.write(tmp_path / f"{side}.json")
    assert main(["baseline", "save", "main", "before.json"]) == 0
    stored = (tmp_path / ".advisor" / "baselines" / "main.json").read_text()
    assert "bob" not in stored
    assert "kernel.cu" not in stored
    for form in ("text", "markdown", "html", "json", "github"):
        capsys.readouterr()
        assert main(["compare", "before.json", "after.json", "--format", form]) == 0
        shown = capsys.readouterr().out
        assert "bob" not in shown
        assert "ghp_" not in shown
    assert main(["compare", "--baseline", "main", "after.json", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # One name on both sides, or the kernel would seem to be gone.
    assert [row["name"] for row in document["kernels"]] == ["(names left out)"]
    assert main(["baseline", "save", "main", "before.json", "--names"]) == 0
    capsys.readouterr()
    assert main(["compare", "--baseline", "main", "after.json", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in document["kernels"]] == ["…/kernel.cu"]
    assert main(["compare", "before.json", "after.json", "--format", "json", "--no-redact"]) == 0
    assert secret in capsys.readouterr().out
