"""A folder of ten thousand ranks: something is seen to happen at once, in the text and on the screen, and Ctrl-C ends it."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from analyzer.cli.arguments.folders import MOST_TRACES, traces_in
from analyzer.cli.streams.progress import ProgressLine
from analyzer.opening import same_job
from jobs.simulated import Job
from running.signals import PROGRAM

pty = pytest.importorskip("pty")
FILES = 10_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("job")
    first, *others = Job(dp=2, steps=2).run().write(made)
    for other in others:
        other.unlink()
    for number in range(1, FILES):
        os.link(first, made / f"rank_{number}.json")
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shown"), [(["--brief"], b"reading ranks"), ([], b"\x1b[?1049h")], ids=["text", "screen"]
)
def test_progress_is_seen_and_can_be_interrupted(folder: Path, options: list[str], shown: bytes) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100")
        os.environ.pop("CI", None)
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, "explain", str(folder), "--jobs", "1", *options])
    try:
        seen = _read_until(terminal, shown)
        os.kill(process, signal.SIGINT)
        _read_until(terminal, None)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    except BaseException:
        os.kill(process, signal.SIGKILL)
        raise
    finally:
        os.close(terminal)
    assert f"holds {FILES:,} files".encode() in seen


def _read_until(terminal: int, words: bytes | None, seconds: float = 60) -> bytes:
    """What comes until these words do, or the end."""
    found, deadline = b"", time.monotonic() + seconds
    while words is None or words not in found:
        assert time.monotonic() < deadline, found[-500:]
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                found += os.read(terminal, 65_536)
            except OSError:  # nobody writes any more
                assert words is None, found[-500:]
                return found
    return found


@pytest.mark.slow
def test_while_files_are_looked_at_it_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("analyzer.cli.streams.progress.is_terminal", lambda stream: True)
    monkeypatch.setattr("analyzer.cli.arguments.folders.ProgressLine", lambda: ProgressLine(patience_s=0))
    assert len(traces_in([folder])) == MOST_TRACES
    assert "looking at files [" in capsys.readouterr().err


def test_no_more_than_some_heads_are_read_before_the_first_screen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def rank(path: Path) -> tuple[int, int]:
        asked.append(path)
        return len(asked), FILES

    monkeypatch.setattr(same_job, "_rank", rank)
    paths = sorted(folder.iterdir())
    assert same_job.same_job(paths)
    assert len(asked) <= 64
    # From the whole of it, not from its begin.
    assert paths.index(asked[-1]) > 0.9 * FILES
