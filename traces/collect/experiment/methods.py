"""The methods that are compared: the standard loop, and one change to it each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Data = Literal["standard", "memory", "offline", "uint8"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How the reference loop is run; the defaults are the standard loop.

    Args:
        data: `standard` decodes and transforms sample by sample; `offline` transformed all once and loads sample by sample;
            `memory` transformed all once and indexes whole batches; `uint8` indexes whole batches of bytes and normalises
            them on the device.
        num_workers: Worker processes; -1 for as many as suit the machine.
        accumulate: Batches to an optimizer step.
    """

    data: Data = "standard"
    batch_size: int = 64
    num_workers: int = 0
    pin_memory: bool = False
    non_blocking: bool = False
    prefetch_factor: int | None = None
    persistent_workers: bool = False
    set_to_none: bool = False
    amp: bool = False
    compile: bool = False
    fused: bool = False
    accumulate: int = 1


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Args:
        name: File name of its trace and word for the command line.
        title: What the table shows.
        setup: How the loop is run.
        needs: What must be there: `accelerator`, `compiler`, or nothing.
    """

    name: str
    title: str
    setup: Setup
    needs: str = ""


_STANDARD = Setup()
_WORKERS = replace(_STANDARD, num_workers=-1)

METHODS: tuple[Method, ...] = (
    Method("standard", "standard", _STANDARD),
    Method("workers", "multi-worker loading", _WORKERS),
    Method("pinned", "pinned + non-blocking", replace(_STANDARD, pin_memory=True, non_blocking=True), "accelerator"),
    Method("batch", "batch size x 4", replace(_STANDARD, batch_size=256)),
    Method("prefetch", "workers, prefetch factor 8", replace(_WORKERS, prefetch_factor=8)),
    Method("persistent", "workers, persistent", replace(_WORKERS, persistent_workers=True)),
    Method("set-to-none", "gradients set to None", replace(_STANDARD, set_to_none=True)),
    Method("amp", "automatic mixed precision", replace(_STANDARD, amp=True)),
    Method("compile", "torch.compile", replace(_STANDARD, compile=True), "compiler"),
    Method("memory", "data in memory, whole batches", replace(_STANDARD, data="memory")),
    Method("offline", "offline preprocessing", replace(_STANDARD, data="offline")),
    Method("uint8", "uint8 transfer, normalised late", replace(_STANDARD, data="uint8")),
    Method("fused", "fused optimizer", replace(_STANDARD, fused=True)),
    Method("accumulate", "gradient accumulation x 4", replace(_STANDARD, accumulate=4)),
)
