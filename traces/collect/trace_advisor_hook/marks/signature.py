"""Which call of a module is the same as one before: the same tensors, not written to since, and equal plain values."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

# Longer lists are data, no arguments.
_MOST_PARTS = 64
# Of a result as many numbers are compared, spread over all.
_SAMPLED = 4096
# How far results may be apart that only rounding tells apart, in their largest number: of 16 bits, and of more.
_ROUNDED, _HALF_BYTES = (2e-2, 1e-4), 2
# Of a result that lies in no order, a copy of more is not made.
_MOST_COPIED = 2**22


class Unknown(ValueError):
    """Nobody can tell whether two such arguments are the same."""


class Signature:
    """What tells a call, and the storages of the tensors that it is given.

    Args:
        key: Equal for calls with the same arguments, while `kept` is.
        storages: Where the tensors lie.
        kept: Keeps addresses from being given again: weak references, and tensors that have no storage.
        wants_gradient: Whether some tensor does.
    """

    def __init__(self, arguments: Any, named: Any) -> None:
        self.storages: set[int] = set()
        self.kept: list[Any] = []
        self.wants_gradient = False
        self.key = self._of((tuple(arguments), dict(named or {})))
        if not self.kept:
            raise Unknown("no tensor")

    def _of(self, value: Any) -> Hashable:
        torch: Any = sys.modules["torch"]
        if isinstance(value, torch.Tensor):
            return self._of_tensor(value, torch)
        if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
            return type(value).__name__, value
        if isinstance(value, Mapping) and len(value) < _MOST_PARTS:
            return tuple((name, self._of(one)) for name, one in value.items())
        if isinstance(value, (list, tuple)) and len(value) < _MOST_PARTS:
            return tuple(self._of(one) for one in value)
        raise Unknown(type(value).__name__)

    def _of_tensor(self, tensor: Any, torch: Any) -> Hashable:
        self.wants_gradient |= tensor.requires_grad
        if tensor.layout is not torch.strided:
            self.kept.append(tensor)
            self.storages.add(id(tensor))
            return id(tensor), tensor._version
        reference = _reference(tensor)
        self.kept.append(reference)
        self.storages.add(reference.cdata)
        return (
            reference.cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor._version
        )  # fmt: skip


def storages(value: Any) -> tuple[set[int], list[Any]]:
    """Where the tensors of a batch lie, and what keeps these addresses from being given again; of other parts nothing is known."""
    strided = sys.modules["torch"].strided
    kept = [_reference(tensor) for tensor in tensors(value) if tensor.layout is strided]
    return {one.cdata for one in kept}, kept


def _reference(tensor: Any) -> Any:
    """A weak reference to where a tensor lies: as long as it is kept, its address is not given again."""
    return importlib.import_module("torch.multiprocessing.reductions").StorageWeakRef(tensor.untyped_storage())


def tensors(value: Any) -> Iterator[Any]:
    """The tensors of a result, a batch or arguments, where it is one, or a list or mapping of such."""
    if isinstance(value, sys.modules["torch"].Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from tensors(list(value.values()))
    elif isinstance(value, (list, tuple)) and len(value) < _MOST_PARTS:
        for one in value:
            yield from tensors(one)


def sampled(value: Any) -> list[Any]:
    """Numbers of each tensor of a result, spread over all of it, copied; what it holds later on may be written to.

    Raises:
        Unknown: It has no tensor, or one that cannot be looked at cheaply.
    """
    found = []
    for tensor in tensors(value):
        if not tensor.is_contiguous() and tensor.numel() > _MOST_COPIED:
            raise Unknown("a result that lies in no order")
        flat = tensor.detach().reshape(-1)
        found.append(flat[:: max(1, flat.numel() // _SAMPLED)].clone())
    if not found:
        raise Unknown("no tensor")
    return found


def equal(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists of tensors are the same, bit for bit."""
    same = sys.modules["torch"].equal
    return _alike(one, other) and all(same(first, second) for first, second in zip(one, other, strict=True))


def close(one: list[Any], other: list[Any]) -> bool:
    """Whether two results are the same but for the order of sums: products round by where their operands lie in memory (MKL)."""
    return _alike(one, other) and all(_close(first, second) for first, second in zip(one, other, strict=True))


def _alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        first.shape == second.shape and first.dtype == second.dtype for first, second in zip(one, other, strict=True)
    )


def _close(first: Any, second: Any) -> bool:
    torch: Any = sys.modules["torch"]
    if not first.is_floating_point() or not first.numel():
        return bool(torch.equal(first, second))
    largest = first.abs().max().float()
    return bool((first.float() - second.float()).abs().max() <= _ROUNDED[first.dtype.itemsize > _HALF_BYTES] * largest)
