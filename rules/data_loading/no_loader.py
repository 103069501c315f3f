"""Fixes for batches that the training process makes itself, drawn from an object that is no DataLoader of torch's."""

from __future__ import annotations

from analyzer.finding import Advice

# `batch_size=None`: what the iterable yields is a batch already.
_IN_A_WORKER = Advice(
    "python",
    "class Batches(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        yield from batches   # as today\n\n"
    "loader = DataLoader(Batches(), batch_size=None, num_workers=1, persistent_workers=True)",
    "What the loop draws from is no DataLoader: its batches are made in the training process, between the steps. In a worker they "
    "are made beside them. One worker: each would make all of the batches.",
)
_ITS_OWN = Advice(
    "text",
    "Where a library makes the object: look for its own setting, workers or a cache of what it has prepared.",
    "What is the same in every epoch need be prepared only once.",
)
FIXES = (_IN_A_WORKER, _ITS_OWN)
