"""A folder stands for its traces, whatever else lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer.cli.arguments.folders import traces_in
from analyzer.cli.main import main
from building.builders import TraceBuilder
from traces.errors import UsageError


def write_trace(path: Path) -> Path:
    builder = TraceBuilder()
    for number in range(5):
        builder.step(number, number * 10_000, 10_000).op("aten::mm", number * 10_000, 9_000)
    return builder.write(path)


def test_folders_stand_for_their_traces(tmp_path: Path) -> None:
    for name in ("rank1.json", "rank0.json"):
        write_trace(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no trace")
    assert [path.name for path in traces_in([tmp_path])] == ["rank0.json", "rank1.json"]


def test_of_a_folder_of_thousands_the_first_are_read_and_the_rest_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.cli.arguments.folders.MOST_TRACES", 3)
    for number in range(5):
        write_trace(tmp_path / f"rank{number}.json")
    assert [path.name for path in traces_in([tmp_path])] == ["rank0.json", "rank1.json", "rank2.json"]
    assert "holds 5 files, of which the first 3 by name are read" in capsys.readouterr().err


def test_a_folder_without_traces_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no trace"):
        traces_in([tmp_path])
    (tmp_path / "config.json").write_text('{"lr": 1}')
    with pytest.raises(UsageError, match=r"config\.json: no profiler wrote that"):
        traces_in([tmp_path])


@pytest.mark.parametrize(
    "folder", ["rank_0", "runs/exp1", "lightning_logs/version_0", "outputs/profile_trace/iteration_10/rank0"]
)
def test_traces_are_found_as_deep_as_tools_put_them(tmp_path: Path, folder: str) -> None:
    (tmp_path / "config.json").write_text('{"lr": 1}')
    (tmp_path / ".cache").mkdir()
    write_trace(tmp_path / ".cache" / "old.json")
    (tmp_path / folder).mkdir(parents=True)
    trace = write_trace(tmp_path / folder / "trace.json")
    assert traces_in([tmp_path]) == [trace]


def test_the_nearest_traces_are_meant(tmp_path: Path) -> None:
    (tmp_path / "a" / "older").mkdir(parents=True)
    write_trace(tmp_path / "a" / "older" / "rank0.json")
    near = write_trace(tmp_path / "a" / "rank0.json")
    assert traces_in([tmp_path]) == [near]


def test_no_disk_is_walked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.cli.arguments.folders._MOST_LOOKED_AT", 10)
    for number in range(12):
        (tmp_path / f"folder{number:02}").mkdir()
    write_trace(tmp_path / "folder00" / "rank0.json")
    with pytest.raises(UsageError, match="holds no trace"):
        traces_in([tmp_path])


def test_a_closed_folder_on_the_way_is_told_and_passed_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    trace = write_trace(tmp_path / "open" / "rank0.json")
    inside = Path.iterdir

    def refused(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return inside(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert traces_in([tmp_path]) == [trace]
    assert "closed may not be read" in capsys.readouterr().err


def test_reports_and_settings_beside_a_trace_are_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = write_trace(tmp_path / "trace.json")
    (tmp_path / "config.json").write_text('{"lr": 1}')
    assert main(["explain", str(trace), "-o", str(tmp_path / "report.json")]) == 0
    assert main(["compare", str(trace), str(trace), "-o", str(tmp_path / "comparison.json")]) == 0
    capsys.readouterr()
    assert main(["explain", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("trace.json")
    assert "no traces: comparison.json, config.json, report.json" in output.err


@pytest.mark.parametrize("text", ["", '{"traceEvents": [{"ph"', '{"message": "Not Found"}', "<!doctype html>", "[]"])
def test_what_may_have_been_a_trace_is_not_left_out(tmp_path: Path, text: str) -> None:
    write_trace(tmp_path / "rank0.json")
    (tmp_path / "rank1.json").write_text(text)
    assert [path.name for path in traces_in([tmp_path])] == ["rank0.json", "rank1.json"]


@pytest.mark.parametrize("text", ['{"traceEvents": []}', '[{"ph": "X", "ts": 1}]'])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_small_traces_are_traces_in_every_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "rank0.json").write_bytes(text.encode(encoding))
    assert [path.name for path in traces_in([tmp_path])] == ["rank0.json"]


@pytest.mark.parametrize("ending", ["html", "json"])
def test_a_report_is_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    trace, report = write_trace(tmp_path / "trace.json"), tmp_path / f"report.{ending}"
    assert main(["explain", str(trace), "-o", str(report)]) == 0
    assert main(["compare", str(report), str(trace)]) == 2
    assert "is a report, not a trace" in capsys.readouterr().err


def test_a_name_is_told_in_one_line_without_what_a_terminal_obeys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An archive of somebody else's may hold a file that is called as a line of ours."""
    write_trace(tmp_path / "trace.json")
    (tmp_path / "\x1b[2Jgone\nadvisor: all is well.json").write_text('{"lr": 1}')
    assert main(["explain", str(tmp_path)]) == 0
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "no traces" in line]
    assert told.endswith("\\x1b[2Jgone advisor: all is well.json")


@pytest.mark.parametrize("name", ["no\nadvisor: all is well.json", "no\x1b[2J.json"])
def test_nor_does_an_error_say_a_name_otherwise(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / name)]) == 3
    told = capsys.readouterr().err
    assert [line for line in told.splitlines() if line.startswith("advisor: ")] == told.splitlines()[:1]
    assert "\x1b" not in told


def test_a_link_into_a_closed_folder_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`advisor explain /` was refused for a link of another process that may not be followed."""
    trace = write_trace(tmp_path / "rank0.json")
    (tmp_path / "linked").symlink_to("/")
    looked_at = os.stat

    def refused(path: object, *args: object, **named: object) -> os.stat_result:
        if str(path).endswith("linked"):
            raise PermissionError(13, "Permission denied", str(path))
        return looked_at(path, *args, **named)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "stat", refused)
    assert traces_in([tmp_path]) == [trace]
