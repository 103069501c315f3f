"""What the figures were measured on."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
from datetime import datetime, timezone
from typing import Any

import torch

from gpu.bench import Bench
from traces.collect.output.cores import usable_cores

_FACTS = "name,driver_version,clocks.max.sm,clocks.max.memory,power.limit,memory.total,mig.mode.current"
_PACKAGES = ("torchvision", "pandas", "numpy", "cupti-python", "nvidia-ml-py", "triton")


def machine(bench: Bench) -> dict[str, Any]:
    """Versions, the card and what the driver says of it; counters need torch 2.15 and cupti-python."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "defects": [],
        "date": datetime.now(timezone.utc).date().isoformat(),
        "device": torch.cuda.get_device_name() if bench.device == "cuda" else "none",
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": os.getloadavg()[0],
        "versions": versions,
        "driver": _driver() if bench.device == "cuda" else {},
        "counters": _counters(),
    }


def _driver() -> dict[str, str]:
    """What nvidia-smi says of the first device; empty where it is not there."""
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", f"--query-gpu={_FACTS}", "--format=csv,noheader", "--id=0"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return dict(zip(_FACTS.split(","), map(str.strip, ran.stdout.split(",")), strict=False))


def _counters() -> str:
    """Why torch records no counters here; empty where it can."""
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if release < (2, 15):
        return f"torch {torch.__version__} records none: 2.15 is the first that does"
    if importlib.util.find_spec("cupti") is None:
        return "cupti-python is not installed"
    return ""
