"""Programs recorded by `advisor collect`: is each recording sound, and what did recording cost?"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from gpu.bench import MOST_BYTES, Bench, advisor, explained

PROGRAMS = Path(__file__).parent / "programs"
# The reference loop takes its options from the command line.
_REFERENCE = {
    "reference": (),
    "reference-cnn": ("--model", "cnn"),
    "reference-resnet18": ("--model", "resnet18", "--shapes"),
    "reference-pinned": ("--num-workers", "4", "--pin-memory", "--non-blocking"),
    "reference-in-memory": ("--in-memory",),
}


def recordings(bench: Bench) -> dict[str, Any]:
    """Record each program twice, once with shapes where it is a script, and judge both."""
    runs = {name: ("--device", bench.device, *options) for name, options in _REFERENCE.items()}
    runs |= {script.stem: ("--shapes", "--stop", str(script)) for script in sorted(PROGRAMS.glob("*.py"))}
    if bench.device == "cpu":
        del runs["reference-pinned"]
    rows, kept = [], []
    with tempfile.TemporaryDirectory(prefix="advisor-gpu-") as folder:
        for name, options in runs.items():
            if bench.wants(name):
                row, path = _one(bench, name, options, Path(folder))
                rows.append(row)
                kept += [path] if path else []
        archive = bench.archive("recordings", kept)
    defects = [f"{row['name']}: {defect}" for row in rows for defect in row["defects"]]
    return {"defects": defects, "archive": archive, "programs": rows}


def _one(bench: Bench, name: str, options: tuple[str, ...], folder: Path) -> tuple[dict[str, Any], Path | None]:
    """One program: what was said of it, and its recording, small enough to be kept; None where it is not."""
    path = folder / f"{name}.json.gz"
    try:
        ran = advisor("collect", "-o", path.name, *options, cwd=folder)
    except subprocess.TimeoutExpired as error:
        return {"name": name, "defects": [f"collect took longer than {error.timeout:.0f} s"]}, None
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no word on stderr"])[-1]
        return {"name": name, "defects": [f"collect ended with {ran.returncode}: {last}"]}, None
    try:
        document = explained(path)
    except ValueError as error:
        return {"name": name, "defects": [f"explain: {error}"]}, None
    row = _row(name, document) | {"bytes": path.stat().st_size}
    row["defects"] = _defects(document, bench.device)
    return row, _small(path, document, row, folder)


def _row(name: str, document: dict[str, Any]) -> dict[str, Any]:
    summary, hardware = document["summary"], document["hardware"]
    return {
        "name": name,
        "verdict": summary["verdict"]["text"],
        "trust": document["trust"]["verdict"],
        "doubts": [reason["message"] for reason in document["trust"]["reasons"]],
        "step_ns": summary["step_ns"]["mean"],
        "unprofiled_step_ns": summary["unprofiled_step_ns"],
        "gpu_busy_ratio": summary["gpu_busy_ratio"],
        "mfu_ratio": hardware["mfu_ratio"],
        "hfu_ratio": hardware["hfu_ratio"],
        "utilisation_reason": hardware["utilisation_reason"],
        "findings": {one["rule"]: one["severity"] for one in document["findings"]},
    }


def _defects(document: dict[str, Any], device: str) -> list[str]:
    """What no sound recording of an ordinary program may have, on any device."""
    summary, found = document["summary"], []
    if document["trust"]["verdict"] == "unusable":
        found.append(
            "the recording is called unusable: " + "; ".join(r["message"] for r in document["trust"]["reasons"])
        )
    if device == "cuda" and not summary["devices"]:
        found.append("no kernel was recorded")
    if summary["unprofiled_step_ns"] is None:
        found.append("no step without the profiler was timed")
    if crashed := [check["rule"] for check in document["checks"] if check["state"] == "crashed"]:
        found.append(f"crashed: {', '.join(crashed)}")
    shares = [document["hardware"][name] for name in ("mfu_ratio", "hfu_ratio")]
    shares += [one["peak_ratio"] for one in document["hardware"]["operators"]]
    if beyond := [share for share in shares if share is not None and share > 1]:
        found.append(f"{max(beyond):.0%} of a peak")
    if document["repairs"]:
        found.append(f"a fresh recording had to be mended: {document['repairs']}")
    return found


def _small(path: Path, document: dict[str, Any], row: dict[str, Any], folder: Path) -> Path | None:
    """The recording, cut to ever fewer of its used steps until it can be kept as a sample."""
    if path.stat().st_size <= MOST_BYTES:
        return path
    numbers = [step["number"] for step in document["steps"]]
    small = folder / "small" / path.name
    small.parent.mkdir(exist_ok=True)
    while numbers:
        cut = ("--steps", f"{numbers[0]}-{numbers[-1]}")
        advisor("slim", str(path), "-o", str(small), "--no-python", *cut, cwd=folder)
        if small.exists() and small.stat().st_size <= MOST_BYTES:
            return Path(shutil.move(small, path))
        numbers = numbers[: len(numbers) // 2]
    row["defects"].append(f"one step of it is larger than {MOST_BYTES:,} bytes")
    return None
