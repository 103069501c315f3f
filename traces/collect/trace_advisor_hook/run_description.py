"""What the trace cannot say about its run: the job, the loader, its data."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from .common import FAILURES, reach
from .loader.batches import BatchLook, draws, sample_form, seeds
from .loader.dataset_parts import own_workers, stream_of

# torchrun and accelerate, Open MPI.
_LOCAL_RANKS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


def world() -> tuple[int | None, int]:
    """Rank and world size; (None, 1) where nothing is distributed."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    with contextlib.suppress(*FAILURES):
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return None, 1


def local_ranks(size: int, environment: Mapping[str, str] = os.environ) -> int | None:
    """Ranks of the job on this machine, by what started them, or where they meet; None where neither tells.

    Args:
        size: World size of the job.
        environment: Of this process.
    """
    told = next((environment[name] for name in _LOCAL_RANKS if environment.get(name, "").isdecimal()), None)
    if told is not None:
        return int(told)
    return size if environment.get("MASTER_ADDR") in ("localhost", "127.0.0.1", "::1") else None


def describe_training(
    optimizer: Any, loader: Any, look: BatchLook, untrained: dict[str, int] | None = None
) -> dict[str, Any]:
    """Model, optimizer, loader and data, as far as they are known; every value is named here, none is a path.

    Args:
        optimizer: The one that steps; None where none does.
        loader: The one that training draws from; None where there is none.
        look: What was seen of its batches.
        untrained: What gets gradients and no update; None where nobody knows.
    """
    model = {"name": None, "parameters": parameters(optimizer), "bytes": parameter_bytes(optimizer)}
    return {
        "model": model if untrained is None else model | {"untrained": untrained},
        "optimizer": type(optimizer).__name__ if optimizer is not None else None,
        "batch_size": batch_size(loader) or samples_of_sampler(loader),
        "loader": describe_loader(loader) if loader is not None else None,
        "dataset": describe_data(loader, look) if loader is not None else None,
        "batch_parts_ns": look.parts.told(loader),
        "masked_ratio": look.masked_ratio,
        "masked_beyond_ratio": look.masked_beyond_ratio,
        "stream": stream_of(getattr(loader, "dataset", None)),
    }


def clock() -> str | None:
    """A digest of this boot's number, equal for processes that share a clock; it names nothing. None where there is none."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return hashlib.sha256(file.read().strip().encode()).hexdigest()[:12]
    return None


def describe_process(size: int) -> dict[str, Any]:
    """Device, threads, versions and switches of torch in this process; no variable of the environment but those named.

    Args:
        size: World size of its job, 1 where it is in none.
    """
    torch: Any = sys.modules["torch"]
    return {
        "device": "cuda" if torch.cuda.is_initialized() else "cpu",
        **({"clock": clock(), "local_ranks": local_ranks(size)} if size > 1 else {}),
        "threads": {
            "intra_op": torch.get_num_threads(),
            "inter_op": torch.get_num_interop_threads(),
            # These two decide whether idle threads give their core to the loader; no other variable is recorded.
            "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
            "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY"),
        },
        "versions": {
            "torch": str(torch.__version__),
            "python": platform.python_version(),
            "cuda": torch.version.cuda,
            "rocm": torch.version.hip,
        },
        "flags": {
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
            "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
            "anomaly_mode": torch.is_anomaly_enabled(),
        },
    }


def describe_loader(loader: Any) -> dict[str, Any]:
    """The arguments a loader was made with, as far as they decide its speed."""
    names = ("num_workers", "pin_memory", "persistent_workers", "prefetch_factor", "drop_last")
    sampler = getattr(loader, "sampler", None)
    # A sampler of whole batches holds the one that draws.
    shuffle = "Random" in type(getattr(sampler, "sampler", sampler)).__name__
    told = {name: getattr(loader, name, None) for name in names}
    own = own_workers(getattr(loader, "dataset", None))
    return told | {"shuffle": shuffle, "batch_size": batch_size(loader)} | ({"own_workers": own} if own else {})


def batch_size(loader: Any) -> int | None:
    """Samples of a batch, by the loader or by what makes its batches; None where neither says."""
    size: int | None = getattr(loader, "batch_size", None) or reach(loader, "batch_sampler", "batch_size")
    return size


def samples_of_sampler(loader: Any) -> int | None:
    """Samples of a batch that the data set makes whole (`batch_size=None`), by the sampler; None where it does not say."""
    size: int | None = reach(loader, "sampler", "batch_size")
    return size


def describe_data(loader: Any, look: BatchLook) -> dict[str, Any]:
    """Name and length of a loader's data set, and what was seen of its batches; None for what is unknown."""
    data, size = getattr(loader, "dataset", None), batch_size(loader) or samples_of_sampler(loader)
    return {
        "name": type(data).__name__,
        "length": _length(data),
        "sample_bytes": look.bytes // size if size and look.bytes else None,
        "batch_kind": look.kind,
        "batch_tensors": look.tensors,
        "sample": sample_form(loader, look.form),
        "random": draws(loader, look.drawn),
    } | ({"seeds": True} if seeds(loader) else {})


def _length(data: Any) -> int | None:
    """Samples of a data set; None where it has no length, or fails to tell."""
    with contextlib.suppress(*FAILURES):
        return len(data)
    return None


def parameters(optimizer: Any) -> int | None:
    """Numbers that an optimizer updates; None where there is none."""
    groups = getattr(optimizer, "param_groups", ())
    return sum(parameter.numel() for group in groups for parameter in group["params"]) or None


def parameter_bytes(optimizer: Any) -> int | None:
    """Bytes of what an optimizer updates; None where there is none."""
    groups = getattr(optimizer, "param_groups", ())
    return (
        sum(parameter.numel() * parameter.element_size() for group in groups for parameter in group["params"]) or None
    )
