"""Programs of other frameworks, unmodified: each is recorded, ends as it does alone, and is told what is true of it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.expected import INPUT, PROGRAMS, Program
from traces.collect.output.cores import usable_cores

FOLDER = Path(__file__).parent / "programs"
# Half a minute on idle cores; on busy ones what matters is what is said, not when.
_LONGEST_S = 1_800
ADVISOR = Path(sys.executable).parent / "advisor"
_MARKS = {True: [pytest.mark.frameworks, pytest.mark.quick], False: [pytest.mark.frameworks]}


def _record(program: Program, folder: Path) -> list[Path]:
    """Record a program as its user would; the files that were written."""
    caches = {"XDG_CACHE_HOME": str(folder / "cache"), "KERAS_HOME": str(folder / "keras")}
    environment = os.environ | {"HF_HUB_OFFLINE": "1"} | caches
    script = str(FOLDER / f"{program.file}.py")
    command = [str(ADVISOR), "collect", "-o", "out/trace.json", *program.options, *program.launcher, script]
    (folder / "out").mkdir()
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LONGEST_S)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "Traceback" not in ran.stderr, ran.stderr[-3000:]
    written = sorted((folder / "out").iterdir())
    # One file, or one folder with a file of each rank.
    assert len(written) == 1, written
    return sorted(written[0].iterdir()) if written[0].is_dir() else written


def _explained(path: Path) -> dict[str, Any]:
    ran = subprocess.run(
        [str(ADVISOR), "explain", str(path), "--format", "json"], capture_output=True, text=True, timeout=_LONGEST_S
    )
    assert ran.returncode in (0, 4), ran.stderr[-3000:]
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


@pytest.mark.timeout(2 * _LONGEST_S)
@pytest.mark.parametrize("program", [pytest.param(one, id=one.file, marks=_MARKS[one.quick]) for one in PROGRAMS])
def test_a_program_is_recorded_and_told_what_is_true_of_it(program: Program, tmp_path: Path) -> None:
    missing = [name for name in program.needs if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; pip install -e '.[frameworks]'")
    if usable_cores() < program.cores:
        pytest.skip(f"needs {program.cores} cores")
    paths = _record(program, tmp_path)
    assert len(paths) == program.ranks
    path = paths[0]
    document = _explained(path)
    findings = document["findings"]
    found = {one["rule"]: one for one in findings}
    assert not [check for check in document["checks"] if check["state"] == "crashed"]
    for wanted in program.finds:
        assert wanted & found.keys(), (sorted(wanted), sorted(found), document["summary"]["verdict"])
    large = {one["rule"] for one in findings if one["severity"] in ("high", "medium")}
    assert not program.never & large, sorted(program.never & large)
    fixes = " ".join(fix["code"] + " " + fix["note"] for one in findings for fix in one["fix"])
    for words in program.says:
        assert words in fixes
    for words in program.never_says:
        assert words not in fixes
    places = [one["location"] for one in findings if one["rule"] in INPUT and one["location"] is not None]
    if program.function:
        assert places, "no finding about input names a place"
        assert places[0]["function"].rpartition(".")[2] == program.function
        assert places[0]["file"].rpartition("/")[2] == f"{program.file}.py"
    if program.at:
        rule, text = program.at
        named = found[rule]["location"]
        assert named is not None
        assert (FOLDER / f"{program.file}.py").read_text().splitlines()[named["line"] - 1].strip() == text
    for one in findings:
        if one["location"] is not None:
            assert "site-packages" not in one["location"]["file"]
            assert "trace_advisor_hook" not in one["location"]["file"]
