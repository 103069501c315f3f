"""What the machine achieves at best, measured beside a recording and kept in it: the key `calibration` of its metadata."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.output.attached import attach
from traces.errors import UsageError

_PROGRAM = Path(__file__).with_name("measure.py")
# Twice that where other programs disturb it.
SECONDS = 10.0
# On a CPU without units for a format one product may take long.
_PATIENCE_S = 300.0


def calibrate(path: Path, python: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Measures in a process of its own and adds the result to a written recording; its events stay byte for byte.

    Args:
        path: The recording.
        python: The interpreter that recorded it; needs torch only.
        seconds: How long to measure, about.

    Returns:
        What was added: device, threads, flops_per_s by number format, bytes_per_s, and what did not settle.

    Raises:
        UsageError: Measuring failed, or the recording cannot be written.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    document = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    advisor = msgspec.json.decode(document["advisor"], type=dict[str, Any])
    device = "cuda" if b'"computeMajor"' in bytes(document.get("deviceProperties", b"")) else "cpu"
    threads = (advisor.get("threads") or {}).get("intra_op") or 0
    told = _measured(python, device, int(threads), seconds)
    attach(path, "calibration", told)
    return told


def _measured(python: str, device: str, threads: int, seconds: float) -> dict[str, Any]:
    command = [python, str(_PROGRAM), device, str(threads), str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError, IndexError) as error:
        last = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise UsageError(
            "the calibration failed",
            why=last[-1] if last else str(error),
            fix="leave --calibrate out; the recording is written",
        ) from error
    return told
