"""A data set that is small enough, indexed once and held: the same samples, no work for each of them.

Only where nothing about a sample is random: a generator that moves while one is made, transforms that are called so, or a sample
that comes out different the second time, each forbid it.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

from ..loader.batch_bytes import bytes_of
from ..loader.batches import draws, form_of
from ..surroundings.memory_limits import memory
from ..surroundings.random_states import random_states

_LOOKS = 8
# Of what is free: the script needs memory of its own.
_MOST_RATIO = 0.25
_MOST_S = 60.0
_UNKNOWN_BYTES = 1 << 30


class CannotHoldError(Exception):
    """Why a data set is not held in memory."""


class Samples:
    """All samples of a data set, made once."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


class Batches(Samples):
    """All samples as one batch; a batch of them is cut out whole, as `default_collate` would put it together."""

    def __init__(self, samples: list[Any], whole: Any) -> None:
        super().__init__(samples)
        self.whole = whole

    def __getitems__(self, indices: list[int]) -> Any:
        return _cut(self.whole, importlib.import_module("torch").tensor(indices))


def _cut(whole: Any, indices: Any) -> Any:
    if isinstance(whole, dict):
        return {name: part[indices] for name, part in whole.items()}
    if isinstance(whole, list | tuple):
        return [part[indices] for part in whole]
    return whole[indices]


def as_it_is(batch: Any) -> Any:
    """A batch that is put together already."""
    return batch


def held(data: Any, collate: Any, how: str) -> tuple[Any, Any]:
    """The data set in memory, and what puts its batches together; None where that stays.

    Args:
        data: The data set.
        collate: The loader's function; None for torch's.
        how: `samples`, or `batches`, which are cut out whole.

    Raises:
        CannotHoldError: It is too large, random, or not a data set of that kind.
    """
    samples = _samples(data)
    if how == "samples":
        return Samples(samples), None
    torchs = importlib.import_module("torch.utils.data").default_collate
    if collate not in (None, torchs):
        raise CannotHoldError("its batches are put together by a function of its own")
    whole = torchs(samples)
    if form_of(whole) is None:
        raise CannotHoldError("a sample is not made of tensors and numbers alone")
    return Batches(samples, whole), as_it_is


def _samples(data: Any) -> list[Any]:
    try:
        size = len(data)
    except TypeError:
        raise CannotHoldError("nobody says how many samples it has") from None
    places = sorted({place * max(size - 1, 0) // (_LOOKS - 1) for place in range(_LOOKS)})
    before, began = random_states(), time.perf_counter()
    first = [data[place] for place in places]
    each_s = (time.perf_counter() - began) / max(len(places), 1)
    if random_states() != before or draws(type("Loader", (), {"dataset": data})(), False):
        raise CannotHoldError("making a sample draws random numbers: held in memory, all epochs would see the same")
    if not all(_same(one, data[place]) for one, place in zip(first, places, strict=True)):
        raise CannotHoldError("a sample comes out different each time")
    if each_s * size > _MOST_S:
        raise CannotHoldError(f"making all {size:,} samples would take about {each_s * size:.0f} s")
    most = (memory() or {}).get("available_bytes", _UNKNOWN_BYTES) * _MOST_RATIO
    needed = sum(map(_bytes, first)) / max(len(first), 1) * size
    if needed > most:
        raise CannotHoldError(f"it would take about {needed / 1e9:.1f} GB, more than a quarter of what is free")
    return [data[place] for place in range(size)]


def _bytes(sample: Any) -> int:
    parts = sample.values() if isinstance(sample, dict) else sample if isinstance(sample, list | tuple) else (sample,)
    return sum(bytes_of(part) or 64 for part in parts)


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if hasattr(one, "equal") and hasattr(one, "shape"):
        return bool(one.shape == other.shape and one.equal(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
