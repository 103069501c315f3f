"""`tests/gpu/run` on the CPU: that a run on a GPU will not be spent on faults of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

from gpu.bench import Bench
from gpu.recordings import _defects
from gpu.tables import report

RUN = Path(__file__).parent / "run"


def _sound() -> dict[str, object]:
    return {
        "summary": {"devices": [{}], "unprofiled_step_ns": 1},
        "trust": {"verdict": "ok", "reasons": []},
        "checks": [{"rule": "DL001", "state": "clear"}],
        "hardware": {"mfu_ratio": 0.4, "hfu_ratio": None, "operators": [{"peak_ratio": 0.9}]},
        "repairs": [],
    }


def test_a_sound_recording_has_no_defect() -> None:
    assert _defects(_sound(), "cuda") == []


@pytest.mark.parametrize(
    ("part", "value", "word"),
    [
        ("summary", {"devices": [], "unprofiled_step_ns": 1}, "no kernel"),
        ("summary", {"devices": [{}], "unprofiled_step_ns": None}, "without the profiler"),
        ("trust", {"verdict": "unusable", "reasons": [{"message": "kernels were lost"}]}, "kernels were lost"),
        ("checks", [{"rule": "DL001", "state": "crashed"}], "DL001"),
        ("hardware", {"mfu_ratio": None, "hfu_ratio": None, "operators": [{"peak_ratio": 1.2}]}, "120% of a peak"),
        ("repairs", [{"kind": "cut"}], "mended"),
    ],
)
def test_what_no_fresh_recording_may_have_is_a_defect(part: str, value: object, word: str) -> None:
    (defect,) = _defects({**_sound(), part: value}, "cuda")
    assert word in defect


def test_the_report_has_a_table_for_each_stage_that_ran(tmp_path: Path) -> None:
    found = {
        "defects": ["one is off"],
        "methods": [],
        "skipped": {"pinned": "no accelerator to copy to"},
        "took_s": 1.0,
    }
    (tmp_path / "experiment.json").write_text(json.dumps(found))
    text = report(tmp_path)
    assert text.startswith("## Experiment")
    assert "- **defect**: one is off" in text
    assert "no accelerator to copy to" in text
    assert "## Zoo" not in text


def test_programs_are_chosen_by_how_they_begin(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "cpu", ("amp", "gpu-"))
    assert [bench.wants(name) for name in ("amp_resnet", "gpu-fused", "ddp")] == [True, True, False]


@pytest.mark.scripts
def test_programs_are_recorded_judged_and_kept(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "-o", str(tmp_path), "--device", "cpu", "--only", "ddp"]
    ran = subprocess.run(
        [*command, "--stage", "machine", "--stage", "recordings"], capture_output=True, text=True, timeout=500
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = json.loads((tmp_path / "recordings.json").read_text())["programs"]
    assert [row["name"] for row in rows] == ["ddp"]
    assert all(row["unprofiled_step_ns"] > 0 for row in rows)
    with tarfile.open(tmp_path / "recordings.tar") as archive:
        assert archive.getnames() == ["ddp.json.gz"]
    assert "| ddp |" in (tmp_path / "report.md").read_text()
