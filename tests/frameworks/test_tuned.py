"""Programs of other frameworks under `advisor tune`: their files stay as their own run left them, and nothing runs on."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from frameworks.expected import PROGRAMS, Program

FOLDER = Path(__file__).parent / "programs"
_LONGEST_S = 1_800
ADVISOR = Path(sys.executable).parent / "advisor"
# Lightning, Hugging Face's Trainer and accelerate, plain loops, ranks of torchrun and of spawn, and who brings its own loop.
TUNED = (
    "lightning_slow_dataset", "lightning_computes", "trainer_tokenizes", "accelerate_slow_collate", "timm_augments",
    "metric_learning_embeds", "hydra_app", "click_app", "torchrun_ddp", "spawned_ddp", "tutorial_by_hand", "pyg_builds_graphs",
)  # fmt: skip
MARK = "TUNED_BY_A_TEST"


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(folder / "cache"), MARK: str(folder)}


def _alone(program: Program, folder: Path) -> None:
    """Run it as its user does."""
    launcher = [word for word in program.launcher if word != "--"]
    words = [sys.executable, *launcher, str(FOLDER / f"{program.file}.py"), *program.arguments]
    ran = subprocess.run(
        words,
        cwd=folder,
        env=_environment(folder.parent),
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def _state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file below a folder: its content, and when it was written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _left(folder: Path) -> list[str]:
    """Processes of this test that still run: whatever one starts inherits the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={folder}".encode() in path.read_bytes().split(b"\0"):
                found.append((path.parent / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.frameworks
@pytest.mark.timeout(3 * _LONGEST_S)
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.file in TUNED], ids=lambda one: one.file)
def test_a_program_is_unharmed(program: Program, tmp_path: Path) -> None:
    missing = [name for name in program.needs if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; pip install -e '.[frameworks]'")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    _alone(program, mine)
    before, script = _state(mine), (FOLDER / f"{program.file}.py").read_bytes()
    launcher = list(program.launcher)
    words = [str(ADVISOR), "tune", "--folder", "../run", "--budget", "1.5", "--plain", "--format", "json", *launcher]
    ran = subprocess.run(
        [*words, str(FOLDER / f"{program.file}.py"), *program.arguments],
        cwd=mine, env=_environment(tmp_path), capture_output=True, text=True, timeout=_LONGEST_S, check=False,
    )  # fmt: skip
    sys.stdout.write(f"{program.file}: {ran.returncode}\n{ran.stderr}")
    assert ran.returncode in (0, 4), ran.stderr[-3000:]
    assert "Traceback" not in ran.stderr, ran.stderr[-3000:]
    assert ran.returncode == 0 or "fix: " in ran.stderr
    if ran.returncode == 0:
        assert json.loads(ran.stdout)["schema_version"]
    assert _state(mine) == before
    assert (FOLDER / f"{program.file}.py").read_bytes() == script
    assert _left(tmp_path) == []
