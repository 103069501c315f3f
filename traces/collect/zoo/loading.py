"""Loaders that keep the training waiting, and their remedies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from traces.collect.zoo.parts import Samples, Training, busy, forever, in_memory, mlp
from traces.collect.zoo.preset import Preset, codes


def _loop(loader: DataLoader[Any], device: torch.device, width: int = 768) -> Iterator[None]:
    training = Training(mlp(width), device)
    for inputs, labels in forever(loader):
        training.step(inputs, labels)
        yield


def _decode(inputs: Tensor, index: int) -> Tensor:
    busy(0.0005)
    return inputs


def _per_sample_ops(inputs: Tensor, index: int) -> Tensor:
    return inputs.float().div(255).sub(0.13).div(0.3)


def _rare(inputs: Tensor, index: int) -> Tensor:
    time.sleep(0.08 if index % 128 == 0 else 0)
    return inputs


def _remote(inputs: Tensor, index: int) -> Tensor:
    time.sleep(0.001)
    return inputs


def _listed(inputs: Tensor, index: int) -> Tensor:
    return torch.tensor([float(value) for value in inputs.tolist()])


def _slow_collate(samples: list[tuple[Tensor, Tensor]]) -> Any:
    busy(0.015)
    return default_collate(samples)


def slow_transform(device: torch.device) -> Iterator[None]:
    """Half a millisecond of processor time for every sample, in the training process."""
    return _loop(DataLoader(Samples(2048, _decode), batch_size=32, shuffle=True), device)


def small_samples(device: torch.device) -> Iterator[None]:
    """A few cheap operators for every sample: their overhead is all there is."""
    return _loop(DataLoader(Samples(8192, _per_sample_ops), batch_size=128, shuffle=True), device, width=512)


def waiting_samples(device: torch.device) -> Iterator[None]:
    """Every sample waits a millisecond for the storage, in the training process."""
    return _loop(DataLoader(Samples(4096, _remote), batch_size=32, shuffle=True), device)


def listed_samples(device: torch.device) -> Iterator[None]:
    """Every sample goes through a list of Python's numbers."""
    return _loop(DataLoader(Samples(4096, _listed), batch_size=32, shuffle=True), device, width=512)


def slow_collate(device: torch.device) -> Iterator[None]:
    """A batch that is put together slowly."""
    return _loop(DataLoader(Samples(2048), batch_size=32, shuffle=True, collate_fn=_slow_collate), device)


def bursty_samples(device: torch.device) -> Iterator[None]:
    """One sample in 128 takes 80 ms, which two prefetched batches cannot hide."""
    return _loop(DataLoader(Samples(4096, _rare), batch_size=32, num_workers=1), device)


def even_samples(device: torch.device) -> Iterator[None]:
    """The same without the rare ones."""
    return _loop(DataLoader(Samples(4096), batch_size=32, num_workers=1), device)


def starving_worker(device: torch.device) -> Iterator[None]:
    """One worker that waits 32 ms for the storage of each batch."""
    return _loop(DataLoader(Samples(4096, _remote), batch_size=32, num_workers=1), device)


def many_workers(device: torch.device) -> Iterator[None]:
    """Far more workers than the two cores of a small share of a machine, all of them computing."""
    from traces.collect.output.cores import usable_cores

    with _at_most_cores(2):
        loader = DataLoader(Samples(8192, _decode), batch_size=32, shuffle=True, num_workers=usable_cores() + 4)
        yield from _loop(loader, device)


@contextmanager
def _at_most_cores(most: int) -> Iterator[None]:
    """So many cores for this thread and what it starts: with all of many, workers beyond their number keep up as well.

    Systems without such a limit keep all.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:most])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def new_iterator(device: torch.device) -> Iterator[None]:
    """An epoch of twelve batches, each epoch with new workers; six starts are recorded, for no two take equally long."""
    return _loop(DataLoader(Samples(384), batch_size=32, shuffle=True, num_workers=1), device)


def kept_iterator(device: torch.device) -> Iterator[None]:
    """The same with workers that stay."""
    loader = DataLoader(Samples(384), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True)
    return _loop(loader, device)


def batches_of_32(device: torch.device) -> Iterator[None]:
    """Whole batches from memory."""
    return _loop(in_memory(32), device)


def batches_of_32_narrow(device: torch.device) -> Iterator[None]:
    """The same for a smaller network."""
    return _loop(in_memory(32), device, width=512)


def batches_of_128(device: torch.device) -> Iterator[None]:
    """Larger batches from memory."""
    return _loop(in_memory(128), device, width=512)


_INPUT = "DL001 DL002 DL003 DL004 DL005 DL006 DL007 DL008"
PRESETS = (
    Preset(name="slow-transform", loop=slow_transform, fires=codes("DL001 DL002"), may=codes("DL006 DL007"), silent=codes("DL003 SY001 PY002"), remedy="batches-of-32", loads=True),
    Preset(name="small-samples", loop=small_samples, fires=codes("DL001 DL002 DL006"), may=codes("DL007"), silent=codes("PY002 DL003"), remedy="batches-of-128", loads=True),
    Preset(name="waiting-samples", loop=waiting_samples, fires=codes("DL001 DL002"), may=codes("DL006 DL007"), silent=codes("DL003 SY001 PY002"), remedy="batches-of-32", loads=True),
    Preset(name="listed-samples", loop=listed_samples, fires=codes("DL001 DL002"), may=codes("DL006 DL007 PY001"), silent=codes("DL003 SY001 PY002"), remedy="batches-of-32-narrow", loads=True),
    Preset(name="slow-collate", loop=slow_collate, fires=codes("DL001 DL002"), may=codes("DL006 DL007"), silent=codes("DL003 PY002"), remedy="batches-of-32", loads=True),
    Preset(name="bursty-samples", loop=bursty_samples, fires=codes("DL004"), may=codes("DL001 PY005"), silent=codes("DL002 DL003 DL007"), remedy="even-samples", active=40, period=4),
    Preset(name="starving-worker", loop=starving_worker, fires=codes("DL003"), may=codes("DL001 DL007"), silent=codes("DL002 DL004 DL005"), remedy="even-samples"),
    Preset(name="many-workers", loop=many_workers, fires=codes("DL008"), may=codes("DL001 DL003 DL004 DL007 PY005"), silent=codes("DL002"), remedy="", active=16, competes=True),
    Preset(name="new-iterator", loop=new_iterator, fires=codes("DL005"), may=codes("DL001 DL003 DL004 DL007 PY005"), silent=codes("DL002"), remedy="kept-iterator", active=72, period=12),
    Preset(name="even-samples", loop=even_samples, may=codes(_INPUT + " PY001")),
    Preset(name="kept-iterator", loop=kept_iterator, may=codes(_INPUT + " PY001 PY005"), period=12),
    Preset(name="batches-of-32", loop=batches_of_32, silent=codes(_INPUT)),
    Preset(name="batches-of-32-narrow", loop=batches_of_32_narrow, silent=codes(_INPUT)),
    Preset(name="batches-of-128", loop=batches_of_128, silent=codes(_INPUT)),
)  # fmt: skip
