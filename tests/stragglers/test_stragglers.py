"""Two real ranks over gloo under torchrun, recorded by `advisor collect`: rank 1 is blamed for what was planted in it.

Run with `-m stragglers` on a machine with two idle cores: where other programs take them the ranks are late for reasons that nobody
planted, and a repeat whose recording says so is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analyzer.ranks.waiting.causes import LACKED_RATIO

pytestmark = [pytest.mark.stragglers, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("program.py")
REPEATS = 10
# The recorder's own limit for saying that cores were lacking. Of the rank that nothing was planted in, the job's is kept.
_LACKING_RATIO = 0.25


def recorded(folder: Path, fault: str, port: int) -> dict[str, Any]:
    """The job of both ranks, as `explain --format json` tells it."""
    launch = [
        "-m",
        "torch.distributed.run",
        "--",
        "--nproc-per-node",
        "2",
        "--master-port",
        str(port),
        str(PROGRAM),
        fault,
    ]
    advisor = [sys.executable, "-m", "analyzer.cli.main"]
    subprocess.run([*advisor, "collect", "-o", "job.json", *launch], cwd=folder, check=True, capture_output=True)
    # A neighbour on a core is what "device" is about: there the other rank alone has to have had its own.
    looked_at = (0,) if fault == "device" else (0, 1)
    for rank in looked_at:
        told = json.loads((folder / "job" / f"rank{rank}.json").read_text())["advisor"]
        if (told.get("core_wait_ratio") or 0.0) > (LACKED_RATIO if fault == "device" else _LACKING_RATIO):
            pytest.skip(f"rank {rank} had no core for {told['core_wait_ratio']:.0%} of its steps: the machine is busy")
    found = subprocess.run(
        [*advisor, "explain", "job", "--format", "json"], cwd=folder, check=True, capture_output=True, text=True
    )
    job: dict[str, Any] = json.loads(found.stdout)["job"]
    return job


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("fault", ["host", "device", "imbalance"])
def test_the_planted_rank_is_named_with_its_class(tmp_path: Path, fault: str, repeat: int) -> None:
    job = recorded(tmp_path, fault, 29_700 + repeat)
    assert [(one["rank"], one["cause"]) for one in job["late"]] == [(1, fault)], job["verdict"]["text"]


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_nobody_is_blamed_in_a_healthy_job(tmp_path: Path, repeat: int) -> None:
    job = recorded(tmp_path, "healthy", 29_750 + repeat)
    assert job["late"] == [], job["verdict"]["text"]
    assert job["verdict"]["held_up_by"] in ("nobody", "not clear")
