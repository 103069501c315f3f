"""Several ranks read at once, and the end comes: by Ctrl-C in a terminal, by SIGTERM, or for whoever started it all."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.simulated import Job
from running.recorded import ROOT
from running.signals import others, wait_until

pytestmark = pytest.mark.slow
PROGRAM = "from analyzer.cli.entry import program; program()"


@pytest.fixture
def stuck() -> Iterator[str]:
    """The URL of a trace of which the first bytes come, and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        opened: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    opened.append(listening.accept()[0])
                except OSError:
                    return
                opened[-1].recv(65_536)
                opened[-1].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{")

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/rank_8.json"
        listening.shutdown(socket.SHUT_RDWR)
        for one in opened:
            one.close()


@pytest.mark.parametrize(
    ("number", "group", "code", "said"),
    [
        (signal.SIGINT, True, 130, "advisor: interrupted"),
        (signal.SIGINT, False, 130, "advisor: interrupted"),
        (signal.SIGTERM, False, 143, "advisor: ended by SIGTERM"),
        (signal.SIGKILL, False, -signal.SIGKILL, ""),
    ],
    ids=["Ctrl-C", "SIGINT", "SIGTERM", "SIGKILL"],
)
def test_nothing_is_left(tmp_path: Path, stuck: str, number: int, group: bool, code: int, said: str) -> None:
    paths = Job(dp=2, steps=3).run().write(tmp_path)
    pipe, scratch = tmp_path / "rank_9.json", tmp_path / "scratch"
    os.mkfifo(pipe)
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "explain", *map(str, paths), str(pipe), stuck, "--jobs", "2", "--brief"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
        env=dict(os.environ, TMPDIR=str(scratch)),
    ) as process:  # fmt: skip
        # It can be opened as soon as a rank's process waits for what comes; another one fetches the other rank.
        writing = _opened(pipe)
        assert wait_until(lambda: any(scratch.glob("advisor-*/*")), 60)
        (os.killpg if group else os.kill)(process.pid, number)
        assert process.wait(timeout=30) == code
        assert wait_until(lambda: others(process.pid) == [], 30)
        os.close(writing)
        assert process.stderr is not None
        told = [line for line in process.stderr.read().splitlines() if line and "reading ranks" not in line]
    if code > 0:
        assert told == [said]
        assert [one for one in scratch.iterdir() if one.name.startswith("advisor-")] == []


def _opened(pipe: Path) -> int:
    """The end to write into, once somebody reads."""
    found: list[int] = []

    def tried() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    assert wait_until(tried, 60)
    return found[0]
