"""Where a trial runs: a folder of links that looks like the user's, and an environment in which loggers stay silent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traces.collect.trace_advisor_hook.trial.overlay import links

WORK, TEMPORARY, CACHE = "work", "tmp", "cache"
# Their own switches: nothing of a trial is uploaded.
_SILENT = {
    "WANDB_MODE": "disabled", "COMET_MODE": "disabled", "COMET_START_MODE": "offline", "MLFLOW_TRACKING_URI": "file:./mlruns",
    "NEPTUNE_MODE": "debug", "CLEARML_OFFLINE_MODE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DVCLIVE_TEST": "1",
    "AIM_UI_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "SWANLAB_MODE": "disabled", "DO_NOT_TRACK": "1",
}  # fmt: skip


def prepare(scratch: Path, outside: Path) -> Path:
    """Make the folder that stands for the user's, in `scratch`; returns it."""
    for name in (TEMPORARY, CACHE):
        (scratch / name).mkdir(exist_ok=True)
    work = scratch / WORK
    links(str(outside), str(work))
    return work


def environment(scratch: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The user's variables, but for what would write or upload elsewhere.

    Args:
        scratch: Takes temporary files and what compilers keep.
        more: What the changes of a trial need.
    """
    cache = scratch / CACHE
    return {
        **os.environ,
        **_SILENT,
        "TMPDIR": str(scratch / TEMPORARY),
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


def guard(scratch: Path, outside: Path) -> dict[str, Any]:
    """What the hook is told of where it may write."""
    return {"scratch": str(scratch), "work": str(scratch / WORK), "outside": str(outside)}


def reachable(word: str, outside: Path) -> str:
    """An argument of the script's as it is; a path that leaves the folder upwards as a whole one, where something lies there."""
    if word.startswith(".." + os.sep) or word == "..":
        place = outside / word
        return str(place.resolve()) if place.exists() else word
    return word
