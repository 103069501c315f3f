"""The example workflow for GitHub: every command of it is run here, on a repository with a slow commit."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from analyzer.config import load_config
from analyzer.explain import load_rules
from running.recorded import ROOT

FILE = ROOT / ".github" / "examples" / "performance.yml"
PAGE = ROOT / "analyzer" / "compare" / "README.md"
# The step is mostly sleep: other programs on the machine do not change its length by much.
TRAIN = """
import time
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    model(torch.rand(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep({sleep})
"""


def steps() -> list[dict[str, object]]:
    return list(yaml.safe_load(FILE.read_text("utf-8"))["jobs"]["gate"]["steps"])


def commands() -> dict[str, str]:
    return {str(step["name"]): str(step["run"]) for step in steps() if "run" in step}


def test_the_page_shows_the_file() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert FILE.read_text("utf-8") in blocks


def test_the_configuration_that_the_page_shows_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "advisor.toml"
    path.write_text(block, encoding="utf-8")
    config = load_config(path, load_rules())
    assert [str(limit) for limit in config.gate] == ["step_ns<=+3%", "input_ns<=+2%"]
    assert config.accepted


def test_no_command_holds_a_value_of_the_event() -> None:
    """Branch names are chosen by anybody: they reach a shell as variables only."""
    found = commands()
    assert found
    assert not any("${{" in command for command in found.values())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose last commit makes the step three times as long, with stand-ins for pip and the installed command."""
    folder, programs = tmp_path / "project", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    for name, line in (
        ("pip", f'echo "$@" >> {tmp_path}/pip.txt'),
        ("advisor", f'exec {sys.executable} -m analyzer.cli.main "$@"'),
    ):
        program = programs / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    git(folder, "init", "-q")
    (folder / "requirements.txt").write_text("torch\n")
    for sleep in (0.01, 0.03):
        (folder / "train.py").write_text(TRAIN.format(sleep=sleep))
        git(folder, "add", "train.py", "requirements.txt")
        git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", f"sleep {sleep}")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A step as the runner runs it."""
    environment = os.environ | {
        "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"),
        "CI": "true",
        **variables,
    }
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.scripts
def test_every_command_of_the_workflow(project: Path) -> None:
    pytest.importorskip("torch")
    named = commands()
    assert list(named) == ["Install", "Record both sides in turns", "Compare", "Write what to read"]
    assert run(named["Install"], project, ADVISOR="trace-advisor").returncode == 0
    assert (project.parent / "pip.txt").read_text() == "install -r requirements.txt trace-advisor\n"
    # One turn instead of five: a change this large needs no more.
    recording = named["Record both sides in turns"].replace("1 2 3 4 5", "1")
    sides = {"BEFORE": git(project, "rev-parse", "HEAD~1"), "AFTER": git(project, "rev-parse", "HEAD")}
    done = run(recording, project, **sides)
    assert done.returncode == 0, done.stderr
    done = run(named["Compare"], project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("::error title=advisor ")
    assert "Gate **failed**" in (project.parent / "summary.md").read_text()
    done = run(named["Write what to read"], project)
    assert done.returncode == 0, done.stderr
    uploaded = next(step["with"]["path"] for step in steps() if "upload" in str(step.get("uses"))).split()
    assert [name for name in uploaded if not (project / name).stat().st_size] == []
    for side, other in (("before", "swapped"), ("after", "before"), ("swapped", "after")):
        (project / side).rename(project / other)
    done = run(named["Compare"], project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("::notice title=advisor ")
