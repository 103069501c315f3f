"""What a trace cannot say about its own run: the document at its top-level key "advisor".

No environment, host, user or path goes in; every value below is named one by one.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sized
from typing import Any

import torch
import torchvision
from torch.utils.data import DataLoader

from traces.collect.output.cores import describe_cores
from traces.collect.recorder.recorder import Recorder
from traces.collect.reference.config import CollectConfig

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
        "loader": describe_loader(loader),
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
    return {
        **describe_cores(),
        "threads": {
            "intra_op": torch.get_num_threads(),
            "inter_op": torch.get_num_interop_threads(),
            # These two decide whether idle threads give their core to the loader; no other variable is recorded.
            "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
            "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY"),
        },
        "flags": _flags(),
    }


def describe_versions() -> dict[str, Any]:
    """Versions that decide how fast a step is."""
    return {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "rocm": torch.version.hip,
    }


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


def describe_loader(loader: DataLoader[Any]) -> dict[str, Any]:
    """The arguments a loader was made with, as far as they decide its speed."""
    return {
        "batch_size": loader.batch_size,
        "num_workers": loader.num_workers,
        "pin_memory": loader.pin_memory,
        "persistent_workers": loader.persistent_workers,
        "prefetch_factor": loader.prefetch_factor,
        # A sampler of whole batches holds the one that draws.
        "shuffle": isinstance(getattr(loader.sampler, "sampler", loader.sampler), torch.utils.data.RandomSampler),
        "drop_last": loader.drop_last,
    }


def describe_dataset(loader: DataLoader[Any], sample_bytes: int | None) -> dict[str, Any]:
    """Samples in a loader's data set, None where it is a stream; and the bytes of one, None where unknown."""
    data = loader.dataset
    return {"length": len(data) if isinstance(data, Sized) else None, "sample_bytes": sample_bytes}


def _flags() -> dict[str, Any]:
    return {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    }
