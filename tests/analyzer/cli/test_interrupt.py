"""Ctrl-C, whenever it comes: exit code 130, one line, nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli import main as program
from running.recorded import ROOT

PROGRAM = "from analyzer.cli.entry import program; program()"
SAMPLE = ROOT / "traces" / "samples" / "baseline.json.gz"


# What Python has just imported when the signal comes: it tells of each import on the standard error. Before the first of these
# nobody looks out for a signal but Python itself.
@pytest.mark.parametrize("moment", ["click.types", "click", "traces.errors", "analyzer.cli.main", "numpy", "pandas"])
def test_an_interrupt_while_it_starts(tmp_path: Path, moment: str) -> None:
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-c",
        PROGRAM,
        "explain",
        str(SAMPLE),
        "-o",
        str(tmp_path / "r.json"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            name = line.rpartition("|")[2].strip()
            if name == moment:
                process.send_signal(signal.SIGINT)
            if not line.startswith("import time:"):
                said.append(line)
    assert process.returncode == 130
    assert "".join(said).strip() == "advisor: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_comes_out_as_another_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    monkeypatch.setattr(program.advisor, "main", interrupted)
    assert program.main([]) == 130
    assert capsys.readouterr().err == "advisor: interrupted\n"


def test_an_interrupt_that_was_lost_on_its_way_is_told_at_the_end() -> None:
    lost = (
        "import analyzer.cli.main as cli, traces.ending as e; cli.main = lambda: 0; e._asked.number = 2; cli.program()"
    )
    ended = subprocess.run([sys.executable, "-c", lost], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 130
    assert ended.stderr == "advisor: interrupted\n"
