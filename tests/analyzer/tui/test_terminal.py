"""The command in a real terminal: what a person sees, and that the terminal is left as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from running.recorded import ROOT
from showing import analyses

TMUX = shutil.which("tmux")
PROGRAM = "import sys; from analyzer.cli.main import main; sys.exit(main())"
SAMPLE = ROOT / "traces" / "samples" / "baseline.json.gz"
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
@pytest.mark.skipif(shutil.which("vi") is None, reason="needs vi: apt-get install vim-tiny")
def test_from_a_finding_to_its_line_in_an_editor_and_to_the_proof(terminal: Terminal, tmp_path: Path) -> None:
    """The line the cursor is on is written to a file from within vi, which then gives the screen back."""
    (tmp_path / "train.py").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    (tmp_path / "report.json").write_bytes(msgspec.json.encode(analyses.example()))
    place = next(card.location for card in analyses.example().cards if card.location)
    unset = "env -u CI -u NO_COLOR -u COLORFGBG -u VISUAL EDITOR=vi TERM=xterm-256color"
    terminal.start(f"cd {tmp_path} && {unset} PYTHONPATH={ROOT} {sys.executable} -c '{PROGRAM}' explain report.json")
    terminal.wait(lambda shown: "1 Findings" in shown and "q Quit" in shown)
    terminal.keys("a")
    told = terminal.wait(lambda shown: "apply and prove" in shown)
    assert "E opens it" in told
    terminal.keys("E")
    terminal.wait(lambda shown: f"line {place.line}" in shown and "1 Findings" not in shown)
    terminal.keys(":", "Space")
    terminal.run("send-keys", "-t", "main", "-l", ".w here")
    terminal.keys("Enter")
    terminal.run("send-keys", "-t", "main", "-l", ":q")
    terminal.keys("Enter")
    terminal.wait(lambda shown: "apply and prove" in shown)
    assert (tmp_path / "here").read_text() == f"line {place.line}\n"


@pytest.mark.slow
def test_every_mode_in_a_real_terminal_and_the_shell_afterwards(terminal: Terminal, tmp_path: Path) -> None:
    unset = "env -u CI -u NO_COLOR -u COLORFGBG"
    terminal.start(
        f"{unset} TERM=xterm-256color {sys.executable} -c '{PROGRAM}' explain {SAMPLE}; echo exit=$?; sleep 60"
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
