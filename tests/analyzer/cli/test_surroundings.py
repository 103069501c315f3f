"""What surrounds the command: streams the shell closed, a terminal that knows only ASCII, file names like options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import analyzer
from building.builders import TraceBuilder
from running.recorded import SAMPLES

ROOT = Path(analyzer.__file__).parents[1]
PROGRAM = f"{sys.executable} -c 'from analyzer.cli.entry import program; program()'"


def shell(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A line of shell in which `advisor` stands for the command of this checkout."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    line = f'advisor() {{ {PROGRAM} "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", line], cwd=cwd, env=env, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(("streams", "code"), [("2>&-", 0), (">&- 2>&-", 2), ("<&-", 0)])
def test_a_stream_that_is_closed_breaks_nothing(tmp_path: Path, streams: str, code: int) -> None:
    done = shell(f"advisor --version {streams}", tmp_path)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize(
    "command", ["--help", "--version", "explain --help", "rules", "rule DL001", "cache", "calibration", "baseline list"]
)
def test_what_cannot_be_printed_is_not_lost_without_a_word(tmp_path: Path, command: str) -> None:
    """It ended with 0, as if somebody had read the answer."""
    done = shell(f"advisor {command} >&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"advisor: error: standard output is closed: what was to be printed there is lost\n")


@pytest.mark.slow
def test_what_goes_into_a_file_needs_no_standard_output(tmp_path: Path) -> None:
    (tmp_path / "t.json.gz").write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    for command in ("explain t.json.gz -o r.html", "slim t.json.gz -o s.json", "annotate t.json.gz -o a.json"):
        done = shell(f"advisor {command} >&-", tmp_path)
        assert (done.returncode, b"error" in done.stderr) == (0, False), command
    for command in ("explain t.json.gz --plain", "explain t.json.gz --format json", "compare t.json.gz t.json.gz"):
        done = shell(f"advisor {command} >&-", tmp_path)
        assert (done.returncode, b"standard output is closed" in done.stderr) == (2, True), command


@pytest.mark.slow
def test_an_error_nobody_can_read_keeps_its_code(tmp_path: Path) -> None:
    assert shell("advisor explain nothing.json --plain 2>&-", tmp_path).returncode == 3


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_standard_error_changes_no_code(tmp_path: Path) -> None:
    (tmp_path / "t.json.gz").write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    assert shell("advisor explain nothing.json --plain 2>/dev/full", tmp_path).returncode == 3
    # It says there what it wrote.
    assert shell("advisor explain t.json.gz -o report.json 2>/dev/full", tmp_path).returncode == 0
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["trace"]["name"] == "t.json.gz"
    # Nor one whose reader is gone.
    assert shell("advisor explain t.json.gz -o report.json 2> >(exit)", tmp_path).returncode == 0
    full = shell("advisor explain t.json.gz --plain >/dev/full", tmp_path)
    assert (full.returncode, b"there is no room for what is written" in full.stderr) == (2, True)


@pytest.mark.slow
def test_a_terminal_of_ascii_gets_ascii(tmp_path: Path) -> None:
    trace = tmp_path / "ü ñ ☃ x.json.gz"
    trace.write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    surroundings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = shell("advisor explain *.json.gz --plain", tmp_path, **surroundings)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"DL001" in done.stdout


@pytest.mark.slow
def test_a_file_that_looks_like_an_option_is_told_how_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "-x.json.gz").write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    done = shell("advisor explain -x.json.gz --plain", tmp_path)
    assert done.returncode == 2
    assert b"if you mean the file of that name, write ./-x.json.gz" in done.stderr
    assert shell("advisor explain ./-x.json.gz --plain", tmp_path).returncode == 0
    assert b"advisor explain --help" in shell("advisor explain -y.json.gz", tmp_path).stderr


@pytest.mark.slow
@pytest.mark.parametrize("level", ["1", "2"])
def test_python_may_leave_assertions_and_docstrings_out(tmp_path: Path, level: str) -> None:
    (tmp_path / "t.json.gz").write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    done = shell("advisor explain t.json.gz --plain --no-cache", tmp_path, PYTHONOPTIMIZE=level)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"DL001" in done.stdout
    page = shell("advisor rule DL001", tmp_path, PYTHONOPTIMIZE=level)
    assert (page.returncode, b"left out by Python's option -OO" in page.stdout) == (0, level == "2")


READING = (
    "explain t.json --plain",
    "explain t.json -o report.html",
    "compare t.json t.json",
    "baseline save name t.json",
    "slim t.json -o small.json.gz",
    "repair t.json -o whole.json.gz",
    "annotate t.json -o marked.json.gz",
    "rule DL001",
)
PRINTING = ("explain t.json --plain", "compare t.json t.json", "rule DL001")
# One process for all of them: each would import what the one before it did. Nobody may be left to tell of a failure by a stream.
EACH_IN_TURN = f"""
import json
import analyzer.cli.entry as entry
import analyzer.cli.main as main
def every():
    codes = [[command, main.main([*command.split(), *also])] for command, also in zip({READING}, [["--no-cache"]] * 2 + [[]] * 6)]
    with open("codes.json", "w") as file:
        json.dump(codes, file)
main.program = every
entry.program()
"""


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&-", "<&- >&-", "<&- 2>&-"])
def test_reading_needs_no_standard_input(tmp_path: Path, streams: str) -> None:
    builder = TraceBuilder()
    for number in range(24):
        builder.step(number, number * 10_000, 10_000).loader(number * 10_000, 5_000)
        builder.op("aten::mm", number * 10_000 + 5_000, 4_000)
    builder.write(tmp_path / "t.json")
    (tmp_path / "each.py").write_text(EACH_IN_TURN)
    # As cron and services start programs.
    done = shell(f"{sys.executable} each.py {streams}", tmp_path)
    expected = [[command, 2 if ">&-" in streams.split() and command in PRINTING else 0] for command in READING]
    assert json.loads((tmp_path / "codes.json").read_text()) == expected, done.stderr


def test_a_trace_from_a_closed_standard_input_is_an_error_in_words(tmp_path: Path) -> None:
    done = shell("advisor explain - --plain <&-", tmp_path)
    assert done.returncode == 3
    assert b"the standard input is closed" in done.stderr


def test_the_program_begins_with_that(tmp_path: Path) -> None:
    # In place of the command line: what number the next file gets.
    program = "import os; print(os.open(os.devnull, 0) > 2)"
    done = shell(
        f"{sys.executable} -c 'import analyzer.cli.entry as entry, analyzer.cli.main as main; "
        f'main.program = lambda: exec("{program}"); entry.program()\' <&- 2>&-',
        tmp_path,
    )
    assert done.stdout == b"True\n"


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    done = shell(
        f"{sys.executable} -c 'import os, analyzer.cli.entry as e; e._occupy_closed_streams(); "
        "print(os.open(os.devnull, 0) > 2, os.get_inheritable(0))' <&- 2>&-",
        tmp_path,
    )
    assert done.stdout == b"True True\n"
