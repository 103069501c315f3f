"""How large a loader's samples are, seen in a batch that the loop takes anyway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

_DEEPEST = 5


class SeenBatch:
    """Bytes of the inputs of the first batch; None before it, or where a batch holds no tensor."""

    def __init__(self) -> None:
        self.input_bytes: int | None = None

    def sample_bytes(self, loader: DataLoader[Any]) -> int | None:
        """Bytes of one sample's inputs; None where the loader does not say how many a batch has."""
        if self.input_bytes is None or not loader.batch_size:
            return None
        return self.input_bytes // loader.batch_size


@contextmanager
def first_batch(loader: DataLoader[Any] | None) -> Iterator[SeenBatch]:
    """Looks at the next batch of a loader, once. Asking the data set for a sample could cost time and random numbers."""
    seen = SeenBatch()
    if loader is None:
        yield seen
        return
    draw = _BaseDataLoaderIter.__next__

    def look(self: Any) -> Any:
        batch = draw(self)
        if self._index_sampler is loader._index_sampler:
            _BaseDataLoaderIter.__next__ = draw  # type: ignore[method-assign]
            seen.input_bytes = _input_bytes(batch)
        return batch

    _BaseDataLoaderIter.__next__ = look  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        _BaseDataLoaderIter.__next__ = draw  # type: ignore[method-assign]


def _input_bytes(batch: Any, depth: int = 0) -> int | None:
    """Bytes of the first tensor in a batch: its inputs, in the usual order."""
    if isinstance(batch, Tensor):
        return batch.element_size() * batch.numel()
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, list | tuple) else ()
    if depth == _DEEPEST:
        return None
    return next((size for size in (_input_bytes(value, depth + 1) for value in values) if size), None)
