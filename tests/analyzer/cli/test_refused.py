"""What the system refuses is no bug of ours: files that go away, folders that are gone, limits of memory."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli.main import COMMANDS, main
from analyzer.cli.refused import refusal
from running.recorded import ROOT, SAMPLES
from traces.errors import UnreadableTraceError
from traces.reader.decode import document
from traces.reader.input import source
from traces.reader.read import read

PROGRAM = "from analyzer.cli.entry import program; program()"
SAMPLE = str(SAMPLES / "baseline.json.gz")
CALLS = {
    "explain": ["explain", SAMPLE, "--plain"],
    "compare": ["compare", SAMPLE, SAMPLE],
    "baseline": ["baseline", "save", "main", SAMPLE],
    "repair": ["repair", SAMPLE, "-o", "whole.json"],
    "slim": ["slim", SAMPLE, "-o", "small.json"],
    "annotate": ["annotate", SAMPLE, "-o", "marked.json"],
    "collect": ["collect"],
    "experiment": ["experiment"],
    "zoo": ["zoo"],
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems hold a process to no such limit")


def run(before: str, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        f"import os, resource, sys; sys.path.insert(0, {str(ROOT)!r}); {before}; {PROGRAM}",
    ]
    return subprocess.run([*command, *words], capture_output=True, text=True, cwd=folder, check=False, timeout=300)


def test_every_command_that_needs_a_folder_is_tried() -> None:
    assert {*CALLS, "rules", "rule"} <= COMMANDS.keys()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no folder that is in use")
@pytest.mark.parametrize("name", CALLS)
def test_a_working_folder_that_is_gone(tmp_path: Path, name: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = run("os.rmdir(os.getcwd())", CALLS[name], gone)
    assert done.returncode == 2, done.stderr
    assert "the working folder is gone" in done.stderr
    assert "cd ~" in done.stderr


@linux
@pytest.mark.parametrize("name", ["explain", "slim", "collect"])
@pytest.mark.parametrize("limit_kb", [100_000, 200_000])
def test_too_little_memory_to_begin(tmp_path: Path, name: str, limit_kb: int) -> None:
    # No library of numbers is loaded yet: their threads' stacks are not in the way.
    done = run(f"resource.setrlimit(resource.RLIMIT_AS, ({limit_kb << 10},) * 2)", CALLS[name], tmp_path)
    assert done.returncode == 3, done.stderr
    assert "MB of memory are needed to begin" in done.stderr
    assert "bug" not in done.stderr


@linux
@pytest.mark.parametrize("command", ["explain", "repair", "slim", "annotate"])
def test_a_file_that_cannot_be_read_to_its_end(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Reading it where nothing is mapped is an error of input and output, as that of a disk that fails.
    made = tmp_path / ("report.json" if command == "explain" else "copy.json")
    assert main([command, "/proc/self/mem", "-o", str(made)]) == 3
    said = capsys.readouterr().err
    assert "mem cannot be read to its end" in said
    assert "Input/output error" in said
    assert not list(tmp_path.iterdir())


def test_an_error_amid_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(
        b'{"traceEvents":[' + b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},' * 20_000
    )
    monkeypatch.setattr(source, "PIECE_BYTES", 64 << 10)
    read_all = source._Reader.read

    def stale(reader: source._Reader, size: int, /) -> bytes:
        if reader.position > 200_000:
            raise OSError(errno.ESTALE, "Stale file handle")
        return read_all(reader, size)

    monkeypatch.setattr(source._Reader, "read", stale)
    with pytest.raises(UnreadableTraceError) as caught:
        read(path)
    assert "after 2" in (caught.value.where or "")
    assert "Stale file handle" in (caught.value.why or "")


def test_a_file_that_is_removed_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    decoded = document.decode(path, lambda *_: path.unlink(missing_ok=True), False, False)
    # What was opened is read to its end.
    assert decoded.documents[0].columns.events > 1_000


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 3, "advisor slim TRACE"),
        (ImportError("x.so: failed to map segment from shared object"), 3, "ulimit -v"),
        (RuntimeError("can't start new thread"), 3, "raise the limit"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 3, "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "no room"),
        (OSError(errno.EIO, "Input/output error", "report.json"), 3, "report.json"),
    ],
)
def test_what_the_system_refuses_is_no_bug(error: Exception, code: int, words: str) -> None:
    said = refusal(error)
    assert said is not None
    assert (said.exit_code, words in str(said)) == (code, True)


@pytest.mark.parametrize(
    "error", [ValueError("x"), ImportError("no module named x"), OSError("made up"), KeyError("y")]
)
def test_what_the_program_does_wrong_is_a_bug(error: Exception) -> None:
    assert refusal(error) is None


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "a file may not be read or written"),
        (errno.EROFS, "a file may not be read or written"),
        (errno.EMFILE, "too many files are open"),
        (errno.EIO, "a disk is damaged"),
    ],
)
def test_each_refusal_is_told_by_its_cause(number: int, says: str) -> None:
    said = str(refusal(OSError(number, os.strerror(number), "a.toml")))
    assert says in said
    assert "a.toml" in said
    assert ("a disk is damaged" in said) is (number == errno.EIO)
