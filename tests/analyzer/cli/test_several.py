"""Several traces on one command line: ranks of a job, unrelated recordings, none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli.arguments import several
from analyzer.cli.main import main
from building.builders import TraceBuilder
from jobs.two_ranks import write_rank


def write_plain(path: Path) -> Path:
    builder = TraceBuilder()
    for index in range(3):
        builder.step(index, index * 1_000, 1_000)
        builder.launch(index * 1_000, kernel_start=index * 1_000 + 10, kernel_dur=900)
    return builder.write(path)


def test_a_folder_of_ranks_shows_the_late_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rank(tmp_path, 0, 5_000)
    write_rank(tmp_path, 1, 8_000)
    assert main(["explain", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "2 ranks, this report is of rank 1" in out
    assert "The others wait 3.0 ms of each 10 ms step for rank 1" in " ".join(out.split())
    rows = [" ".join(line.split()) for line in out.splitlines() if line.startswith("  rank ") and "waits" in line]
    assert [row.partition(" waits ")[2] for row in rows] == [
        "0 ns of 10 ms compute-bound",
        "3.0 ms of 10 ms communication-bound",
    ]


def test_unrelated_traces_get_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(write_plain(tmp_path / name)) for name in ("a.json", "b.json")]
    assert main(["explain", *paths]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if "a step" in line] == ["a.json", "b.json"]
    assert out.endswith("\n")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("rank_0.json", "rank_1.json"), "Their names say ranks: those of one job would hold collectives"),
        (("before.json", "after.json"), "let their names say which"),
        (("rank_0.json", "after.json"), "let their names say which"),
    ],
)
def test_names_that_say_ranks_are_not_asked_to(
    names: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`let their names say which (rank_0.json, rank_1.json)` was said of rank_0.json and rank_1.json."""
    assert main(["explain", *(str(write_plain(tmp_path / name)) for name in names)]) == 0
    assert told in capsys.readouterr().out.splitlines()[-1]


def test_a_report_is_of_one_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(write_plain(tmp_path / name)) for name in ("a.json", "b.json")]
    assert main(["explain", *paths, "--format", "json"]) == 2
    assert "advisor compare BEFORE AFTER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"), [("--scheduler", "127.0.0.1:9"), ("--scheduler-file", "127.0.0.1:9"), ("--jobs", "2")]
)
def test_what_is_for_ranks_is_told_to_be_of_no_use_for_one_trace(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was ignored without a word, a scheduler reachable or not."""
    path = str(write_plain(tmp_path / "a.json"))
    assert main(["explain", path, option, value]) == 0
    assert f"advisor: note: {option} is of no use here: it is for the ranks of a job" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [[], ["--jobs", "1"]])
def test_one_process_for_one_trace_is_what_it_gets(
    jobs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(write_plain(tmp_path / "a.json")), *jobs]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_trace_that_is_named_twice_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was two traces of which nothing said that they are ranks of one job."""
    monkeypatch.chdir(write_plain(tmp_path / "a.json").parent)
    (tmp_path / "linked.json").symlink_to("a.json")
    for again in ("a.json", str(tmp_path / "a.json"), "linked.json", "."):
        assert main(["explain", "a.json", again]) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith("a.json")
        assert "2 traces" not in shown.out
        assert shown.err.count("advisor: note: a.json is named more than once, and is read once") == 1


@pytest.mark.parametrize("same", [True, False])
def test_a_trace_on_both_sides_of_a_comparison_is_told(
    same: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_plain(tmp_path / "a.json")
    after = before if same else write_plain(tmp_path / "b.json")
    assert main(["compare", str(before), str(after)]) == 0
    assert (f"{after} is on both sides" in capsys.readouterr().err) is same


def test_a_side_of_a_comparison_has_no_more_runs_than_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs that are one look as if runs never differed."""
    before, after = (str(write_plain(tmp_path / name)) for name in ("a.json", "b.json"))
    assert main(["compare", before, before, after, after]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("is named more than once") == 2
    assert "3 steps of 1 run" in shown.out


def test_no_trace_suggests_the_newest_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs").mkdir()
    write_plain(tmp_path / "runs" / "trace.json")
    monkeypatch.chdir(tmp_path)
    assert main(["explain"]) == 2
    assert "advisor explain runs/trace.json" in capsys.readouterr().err


def test_what_is_suggested_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plain(tmp_path / "my trace (2).json")
    monkeypatch.chdir(tmp_path)
    assert main(["explain"]) == 2
    assert "fix: advisor explain 'my trace (2).json'" in capsys.readouterr().err


def test_nothing_below_suggests_to_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain"]) == 2
    assert "advisor collect" in capsys.readouterr().err


def test_traces_of_any_name_are_found_hidden_folders_and_other_json_are_not(tmp_path: Path) -> None:
    for place in ("runs/before.json", ".hidden/after.json", "node_modules/deep.json"):
        (tmp_path / place).parent.mkdir()
        write_plain(tmp_path / place)
    (tmp_path / "package.json").write_text("{}")
    # Its target was moved away: `a disk is damaged` was said of it, in place of naming the others.
    (tmp_path / "trace.json").symlink_to("moved.json")
    assert [str(path) for path in several.newest(tmp_path)] == ["runs/before.json"]
