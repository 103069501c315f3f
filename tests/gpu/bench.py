"""What every stage is given, and how one calls `advisor`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A recording that is kept as a sample has at most so much.
MOST_BYTES = 1_500_000
_LIMIT_S = 300
_PROGRAM = "import sys; from analyzer.cli.entry import program; sys.exit(program())"


@dataclass(frozen=True)
class Bench:
    """One run.

    Args:
        folder: Where results go; exists.
        device: `cuda` or `cpu`.
        only: Beginnings of the names of programs and presets; empty for all.
        repeats: How often each method of the experiment is timed.
    """

    folder: Path
    device: str
    only: tuple[str, ...] = ()
    repeats: int = 3

    def wants(self, name: str) -> bool:
        """Whether a program or preset is to be run."""
        return not self.only or name.startswith(self.only)

    def archive(self, stage: str, paths: list[Path]) -> str:
        """Put recordings into one file, each under its name; the name of the file."""
        target = self.folder / f"{stage}.tar"
        with tarfile.open(target, "w") as archive:
            for path in paths:
                archive.add(path, path.name)
        return target.name


def missing(device: str) -> str:
    """Why nothing can be run on a device; empty where it can."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        return "torch sees no CUDA device"
    return ""


def advisor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `advisor` as a user does, of this checkout; its output is captured."""
    root = Path(__file__).resolve().parents[2]
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )


def explained(path: Path) -> dict[str, Any]:
    """The JSON report of a trace.

    Raises:
        ValueError: There is none; the message is the command's own.
    """
    ran = advisor("explain", str(path), "--format", "json", cwd=path.parent)
    if not ran.stdout:
        raise ValueError(ran.stderr.strip() or f"exit code {ran.returncode}")
    document: dict[str, Any] = json.loads(ran.stdout)
    return document
