"""Batches that Lightning draws from what is no DataLoader of torch's, as ranges of a recording.

Torch marks every `__next__` of its own loaders, and Lightning's loop takes any iterable: of one that makes batches itself a
recording would show nothing but Python between two steps.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any

from ..common import FAILURES

# The same package under both of its names.
_MODULES = ("lightning.pytorch.loops.fetchers", "pytorch_lightning.loops.fetchers")
# The stages by which Lightning's own profiler calls them.
_TRAINING, _OTHER = "train_dataloader_next", "val_next"


class FetchMarks:
    """Puts a range around each batch that is drawn, under the name that Lightning's own profiler gives it."""

    def __init__(self) -> None:
        self.wrapped: list[tuple[Any, Any]] = []

    def start(self) -> None:
        """The profiler is on."""
        self.stop()
        for name in _MODULES:
            with contextlib.suppress(*FAILURES):
                fetcher = sys.modules[name]._DataFetcher
                draw = fetcher.__next__
                fetcher.__next__ = _marked(draw)
                self.wrapped.append((fetcher, draw))

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        wrapped, self.wrapped = self.wrapped, []
        for fetcher, draw in wrapped:
            fetcher.__next__ = draw


def _marked(draw: Any) -> Any:
    record_function: Any = importlib.import_module("torch.profiler").record_function

    @functools.wraps(draw)
    def __next__(self: Any) -> Any:
        name = _name(self)
        if name is None:
            return draw(self)
        with record_function(name):
            return draw(self)

    return __next__


def _name(fetcher: Any) -> str | None:
    """What the range is called; None where torch marks it, or Lightning's own profiler does."""
    with contextlib.suppress(*FAILURES):
        loader: Any = importlib.import_module("torch.utils.data").DataLoader
        combined = fetcher.combined_loader
        loop = getattr(fetcher._start_profiler, "__self__", None)
        marks = type(loop.trainer.profiler).__name__ == "PyTorchProfiler" if loop is not None else False
        if marks or all(isinstance(one, loader) for one in combined.flattened):
            return None
        kind = type(loop).__name__
        return f"[pl][profile][{kind}].{_OTHER if 'Evaluation' in kind or 'Prediction' in kind else _TRAINING}"
    return None
