"""The command in a real terminal: what a person sees, and that the terminal is left as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
SAMPLE = Path(__file__).parents[3] / "traces" / "samples" / "baseline.json.gz"
PATIENCE_SECONDS = 90
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


class Terminal:
    """A tmux session of its own server; nothing of the user's is touched."""

    def __init__(self) -> None:
        self._server = f"advisor-test-{os.getpid()}"

    def run(self, *words: str) -> str:
        command = [str(TMUX), "-L", self._server, "-f", os.devnull, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def start(self, command: str) -> None:
        self.run("new-session", "-d", "-x", "100", "-y", "32", "-s", "main", command)

    def keys(self, *names: str) -> None:
        self.run("send-keys", "-t", "main", *names)

    def wait(self, ready: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            shown = self.run("capture-pane", "-p", "-t", "main")
            if ready(shown):
                return shown
            time.sleep(0.2)
        pytest.fail(f"not within {PATIENCE_SECONDS} s; the terminal shows:\n{shown}")


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    one = Terminal()
    yield one
    one.run("kill-server")


@pytest.mark.slow
def test_every_mode_in_a_real_terminal_and_the_shell_afterwards(terminal: Terminal, tmp_path: Path) -> None:
    program = "import sys; from analyzer.cli.main import main; sys.exit(main())"
    unset = "env -u CI -u NO_COLOR -u COLORFGBG"
    terminal.start(
        f"{unset} TERM=xterm-256color {sys.executable} -c '{program}' explain {SAMPLE}; echo exit=$?; sleep 60"
    )
    terminal.wait(lambda shown: "1 Findings" in shown and "q Quit" in shown)
    modes = {"2": "Timeline", "3": "aten::", "4": "profile_memory=True", "5": "not applicable", "?": "Esc closes"}
    for key, words in modes.items():
        terminal.keys(key)
        terminal.wait(lambda shown, words=words: words in shown)
    terminal.keys("Escape")
    terminal.wait(lambda shown: "Esc closes" not in shown)
    terminal.keys("q")
    shown = terminal.wait(lambda shown: "exit=" in shown)
    assert "exit=0" in shown
    assert "1 Findings" not in shown
