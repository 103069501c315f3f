"""Input that would fill memory or disk, through the commands: a clear error, exit code 3, and nothing written."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli import refused
from analyzer.cli.main import main
from running.recorded import ROOT
from traces.errors import UnreadableTraceError
from traces.reader import limits

COMMANDS = ["explain", "repair", "slim", "annotate"]
PROGRAM = "from analyzer.cli.entry import program; program()"
HEAD = b'{"traceEvents":[\n'
EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1},\n'


def output(folder: Path, command: str) -> Path:
    (folder / "out").mkdir()
    return folder / "out" / ("report.json" if command == "explain" else "small.json.gz")


def bomb(path: Path, megabytes: int) -> Path:
    """A file of many compressed parts, each a thousand times smaller than what it holds."""
    path.write_bytes(gzip.compress(HEAD + EVENT % 1) + gzip.compress(b" " * (1 << 20)) * megabytes)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_what_expands_as_no_trace_does_is_refused(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(limits, "EXPANSION_FREE_BYTES", 4 << 20)
    made = output(tmp_path, command)
    assert main([command, str(bomb(tmp_path / "bomb.json.gz", 20)), "-o", str(made)]) == UnreadableTraceError.exit_code
    assert "expands to more than 400 times its size" in capsys.readouterr().err
    assert list(made.parent.iterdir()) == []


@pytest.mark.slow
def test_a_real_bomb_is_refused(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.json.gz", (limits.EXPANSION_FREE_BYTES >> 20) + 20)
    assert path.stat().st_size < 1 << 20
    made = output(tmp_path, "repair")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "repair", path, "-o", made], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, list(made.parent.iterdir())) == (UnreadableTraceError.exit_code, [])
    assert "advisor: error: bomb.json.gz expands to more than 400 times its size" in done.stderr


# Sets a limit as `ulimit -v` does, then runs the command; without one it tells how much the process had.
LIMITED = """
import resource, sys
most = int(sys.argv.pop(1))
if most:
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
from analyzer.cli.main import main
code = main()
with open("/proc/self/status") as file:
    print(*(int(line.split()[1]) * 1024 for line in file if line.startswith("VmPeak:")))
sys.exit(code)
"""


def limited(most: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, most, *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What explaining a trace of one event takes, and a little more; no less than what a process is begun with."""
    path = tmp_path_factory.mktemp("small") / "one.json"
    path.write_bytes(HEAD + (EVENT % 1)[:-2] + b"]}")
    done = limited(0, "explain", path, "-o", path.with_name("one.md"))
    assert done.returncode == 0, done.stderr
    # With old versions the numeric libraries take less.
    return max(int(done.stdout.split()[-1]) + (24 << 20), refused.LEAST_BYTES)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 400,000 events: 21 MB of columns, behind as much text that they are made of."""
    path = tmp_path_factory.mktemp("large") / "large.json"
    path.write_bytes(HEAD + b"".join(EVENT % (10 * number) for number in range(400_000))[:-2] + b"]}")
    return path


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how much there is")


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize("command", ["explain", "annotate"])
def test_a_trace_that_does_not_fit_in_memory_is_refused(tmp_path: Path, command: str, room: int, large: Path) -> None:
    made = output(tmp_path, command)
    done = limited(room, command, large, "-o", made)
    assert done.returncode == UnreadableTraceError.exit_code, done.stderr
    # A busy machine hears of progress before.
    said = [line for line in done.stderr.splitlines() if not line.startswith("advisor: reading")]
    assert "memory" in said[0]
    assert "advisor slim TRACE" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(made.parent.iterdir()) == []


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize("command", ["repair", "slim"])
def test_what_copies_a_trace_needs_no_memory_for_it(tmp_path: Path, command: str, room: int, large: Path) -> None:
    made = output(tmp_path, command)
    done = limited(room, command, large, "-o", made)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(gzip.decompress(made.read_bytes()))["traceEvents"]) == 400_000
