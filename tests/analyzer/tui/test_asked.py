"""SIGTERM and SIGHUP while the UI is on: it leaves, and the terminal gets back what it was."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from running.recorded import ROOT, SAMPLES
from running.signals import PROGRAM, heard

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a pseudo-terminal")
_OTHER_SCREEN, _USUAL_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


def _drawn(terminal: int, until: bytes, seconds: float = 60) -> bytes:
    """What is written until something appears in it, or nobody writes any more."""
    seen, deadline = b"", time.monotonic() + seconds
    while until not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


def _opened(
    words: list[str], folder: Path, before: Callable[[], object] = heard
) -> tuple[subprocess.Popen[bytes], int]:
    """The command on a terminal of its own, as the one whose end the kernel tells it of."""
    ours, its = os.openpty()
    surroundings = os.environ | {"TERM": "xterm-256color", "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    surroundings.pop("CI", None)
    process = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {PROGRAM}", *words],
        stdin=its,
        stdout=its,
        stderr=its,
        env=surroundings,
        cwd=folder,
        start_new_session=True,
        preexec_fn=before,
    )
    os.close(its)
    return process, ours


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP], ids=lambda kind: kind.name)
def test_the_screen_is_given_back(kind: signal.Signals, tmp_path: Path) -> None:
    process, terminal = _opened(["explain", str(SAMPLES / "baseline.json.gz")], tmp_path)
    with process:
        assert _OTHER_SCREEN in _drawn(terminal, _OTHER_SCREEN)
        process.send_signal(kind)
        after = _drawn(terminal, _USUAL_SCREEN)
        assert process.wait(60) == 128 + kind
    os.close(terminal)
    assert _USUAL_SCREEN in after
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_terminal_that_is_gone(tmp_path: Path) -> None:
    process, terminal = _opened(["explain", str(SAMPLES / "baseline.json.gz")], tmp_path)
    with process:
        assert _OTHER_SCREEN in _drawn(terminal, _OTHER_SCREEN)
        os.close(terminal)
        assert process.wait(60) == 129
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_terminal_that_is_gone_while_nobody_is_told(tmp_path: Path) -> None:
    def ignored() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process, terminal = _opened(["explain", str(SAMPLES / "baseline.json.gz")], tmp_path, ignored)
    with process:
        assert _OTHER_SCREEN in _drawn(terminal, _OTHER_SCREEN)
        os.close(terminal)
        try:
            assert process.wait(60) == 129
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []


def test_the_question_which_trace(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.json.gz").write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    process, terminal = _opened(["explain"], folder)
    with process:
        assert _OTHER_SCREEN in _drawn(terminal, _OTHER_SCREEN)
        process.send_signal(signal.SIGTERM)
        assert _USUAL_SCREEN in _drawn(terminal, _USUAL_SCREEN)
        assert process.wait(60) == 143
    os.close(terminal)


_LEAVING = """
import signal, sys, threading, time
from analyzer.tui.keyboard import asked

asked._PATIENCE_S = 0.5
threading.Thread(target=time.sleep, args=(0.2,)).start()
one = asked.Asked()
with one.heard():
    {heard}
    threading.Thread(target=time.sleep, args=(60,), daemon={daemon}).start()
sys.exit(5)
"""


@pytest.mark.parametrize(
    ("heard_of", "daemon", "code"),
    [("one._hear(signal.SIGHUP, None)", False, 129), ("one._hear(signal.SIGHUP, None)", True, 5), ("pass", True, 5)],
)
def test_what_the_screen_left_running_is_not_waited_for_once_its_end_was_asked(heard_of, daemon, code):
    """A reader of Textual's kept a core busy for ever, where the terminal went while the screen came back from an editor."""
    program = _LEAVING.format(heard=heard_of, daemon=daemon)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == code
