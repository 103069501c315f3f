"""What a loader's batches are, seen in one that the loop takes anyway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from traces.collect.trace_advisor_hook.loader.batches import BatchLook


@contextmanager
def first_batch(loader: DataLoader[Any] | None) -> Iterator[BatchLook]:
    """Looks at the next batch of a loader, once. Asking the data set for a sample could cost time and random numbers."""
    seen = BatchLook()
    if loader is None:
        yield seen
        return
    draw = _BaseDataLoaderIter.__next__

    def look(self: Any) -> Any:
        batch = draw(self)
        if self._index_sampler is loader._index_sampler:
            _BaseDataLoaderIter.__next__ = draw  # type: ignore[method-assign]
            seen.after(batch)
        return batch

    _BaseDataLoaderIter.__next__ = look  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        _BaseDataLoaderIter.__next__ = draw  # type: ignore[method-assign]
