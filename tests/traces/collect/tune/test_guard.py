"""A trial changes nothing of the user's: what is written relative to the folder is a copy, anything else ends it before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from traces.collect.guarded import process as guarded
from traces.collect.tune.run import run
from traces.collect.tune.trial import Asked, Ran, Script


def ran(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, timeout_s: float = 60.0) -> Ran:
    """What comes of a script without torch, started in `folder`."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
    script = folder / "script.py"
    script.write_text(source, "utf-8")
    return run(Script(target=str(script)), Asked(timeout_s=timeout_s), folder.parent / "log.txt")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's folder: a log, a folder of checkpoints, data."""
    folder = tmp_path / "mine"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "log.txt").write_text("before\n")
    (folder / "checkpoints" / "last.pt").write_text("old")
    (folder / "data.txt").write_text("data")
    return folder


def state(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "script.py"
    }


def test_what_is_written_beside_the_script_is_a_copy(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(mine)
    source = """
import os, shutil
with open("log.txt", "a") as file: file.write("after")
assert open("log.txt").read() == "before\\nafter"
os.makedirs("runs/one", exist_ok=True)
open("runs/one/events", "w").write("x")
open("checkpoints/last.pt", "w").write("new")
assert open("checkpoints/last.pt").read() == "new"
os.makedirs("checkpoints", exist_ok=True)
os.rename("checkpoints/last.pt", "checkpoints/best.pt")
os.remove("data.txt")
assert not os.path.exists("data.txt")
print("all done")
"""
    found = ran(source, mine, monkeypatch)
    assert (mine.parent / "log.txt").read_text() == "all done\n"
    assert (found.ending, found.status) == ("short", 0)
    assert state(mine) == before


@pytest.mark.parametrize(
    "action",
    [
        "open(PLACE, 'w')", "open(PLACE, 'a')", "open(PLACE, 'r+')", "os.open(PLACE, os.O_CREAT | os.O_WRONLY)",
        "os.mkdir(PLACE + 'd')", "os.remove(PLACE)", "os.rename(PLACE, PLACE + '2')", "shutil.rmtree(os.path.dirname(PLACE))",
        "os.symlink('x', PLACE + '3')", "shutil.copy(__file__, PLACE)", "os.truncate(PLACE, 0)",
        "pathlib.Path(PLACE).write_text('x')",
    ],
)  # fmt: skip
def test_a_write_elsewhere_ends_it_before(action: str, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = mine.parent / "elsewhere"
    other.mkdir()
    place = other / "kept.txt"
    place.write_text("kept")
    source = f"import os, shutil, pathlib\nPLACE = {str(place)!r}\n{action}\nprint('went on')\n"
    found = ran(source, mine, monkeypatch)
    assert found.ending == "stopped"
    assert "elsewhere" in found.reason
    assert state(other) == {"kept.txt": "kept"}
    assert "went on" not in (mine.parent / "log.txt").read_text()


def test_reading_is_free(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = mine.parent / "elsewhere.txt"
    other.write_text("there")
    found = ran(f"print(open({str(other)!r}).read(), open('data.txt').read())", mine, monkeypatch)
    assert found.ending == "short"
    assert (mine.parent / "log.txt").read_text() == "there data\n"


@pytest.mark.slow
def test_a_script_that_hangs_is_killed_with_its_children(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the children leads a session of its own, as torchrun's ranks do."""
    mark = f"mark-{os.getpid()}"
    sleep = f"import time; {mark!r}; time.sleep(600)"
    source = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {sleep!r}])
subprocess.Popen([sys.executable, "-c", {sleep!r}], start_new_session=True)
time.sleep(600)
"""
    found = ran(source, mine, monkeypatch, timeout_s=3.0)
    assert found.ending == "timed out"
    deadline = time.monotonic() + 10
    while living(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert living(mark) == []


def living(mark: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if mark in line and not line.startswith("Z") and "ps -eo" not in line]


@pytest.mark.parametrize(
    ("source", "ending", "reason"),
    [
        ("raise RuntimeError('CUDA out of memory. Tried to allocate')", "no memory", "out of memory"),
        ("raise ValueError('no such model')", "failed", "no such model"),
        ("import sys; sys.exit(3)", "failed", "status 3"),
        ("import os; os._exit(4)", "failed", "status 4"),
        ("pass", "short", "the script ended"),
    ],
)
def test_how_it_ended_is_told(
    source: str, ending: str, reason: str, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ran(source, mine, monkeypatch)
    assert found.ending == ending
    assert reason in found.reason


def test_nothing_of_a_run_is_left(mine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    ran("import tempfile; open(tempfile.mkstemp()[1], 'w').write('x')", mine, monkeypatch)
    assert list(scratch.iterdir()) == []


def test_uploads_are_off(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    ran("import os; print(os.environ['WANDB_MODE'], os.environ['DO_NOT_TRACK'])", mine, monkeypatch)
    assert (mine.parent / "log.txt").read_text() == "disabled 1\n"


def test_the_token_is_no_ones_but_the_trials(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with guarded.started([sys.executable, "-c", "pass"], tmp_path, dict(os.environ), tmp_path / "log"):
            pass
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
