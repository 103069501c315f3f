"""What a trace cannot say about its own run: the document at its top-level key "advisor".

No environment, host, user or path goes in; every value below is named one by one.
"""

from __future__ import annotations

from typing import Any

import torch
import torchvision
from torch.utils.data import DataLoader

from traces.collect.output.cores import describe_cores
from traces.collect.recorder.recorder import Recorder
from traces.collect.reference.config import CollectConfig
from traces.collect.trace_advisor_hook import run_description

SCHEMA_VERSION = "1.0"


def describe(
    config: CollectConfig, loader: DataLoader[Any], model: torch.nn.Module, device: torch.device, data_name: str
) -> dict[str, Any]:
    """The run as JSON-able values; unknown is None. The recording itself comes later, from `describe_recording`."""
    samples = len(loader.dataset)  # type: ignore[arg-type]  # torch types a data set without its length
    images, _ = loader.dataset[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "command": list(config.command()),
        "model": {"name": config.model, "parameters": sum(p.numel() for p in model.parameters())},
        "optimizer": "Adam",
        "device": device.type,
        "non_blocking": config.non_blocking,
        "batch_size": config.batch_size,
        "loader": run_description.describe_loader(loader),
        "dataset": {
            "name": data_name,
            "length": samples,
            "sample_shape": list(images.shape),
            "sample_bytes": images.element_size() * images.numel(),
        },
        **describe_process(),
        "versions": describe_versions() | {"torchvision": str(torchvision.__version__)},
    }


def describe_process() -> dict[str, Any]:
    """Cores, threads and switches of torch in this process."""
    told = run_description.describe_process()
    return {**describe_cores(), "threads": told["threads"], "flags": told["flags"]}


def describe_versions() -> dict[str, Any]:
    """Versions that decide how fast a step is."""
    versions: dict[str, Any] = run_description.describe_process()["versions"]
    return versions


def describe_recording(recorder: Recorder, wait: int, warmup: int) -> dict[str, Any]:
    """Steps recorded, their times in ns with the profiler on and off (medians), how much of them the thread had no core.

    None where no step was timed, or where the system does not tell. What an empty loop took beside them, and whether they hold the
    garbage collector's passes.
    """
    return {
        "profiler": {"wait": wait, "warmup": warmup, "active": recorder.recorded},
        "profiled_step_ns": recorder.profiled_step_ns,
        "unprofiled_step_ns": recorder.unprofiled_step_ns,
        "unprofiled_steps": recorder.unprofiled_steps,
        "core_wait_ratio": recorder.core_wait_ratio,
        "python_loop": recorder.python_loop,
        "gc_recorded": recorder.gc_recorded,
        "samples": recorder.samples,
    }
