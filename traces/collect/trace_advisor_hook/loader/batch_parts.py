"""What making a batch consists of: choosing its samples, taking them from the data set, putting them together.

Timed on the loader's iterator itself, for the few batches that are looked at anyway: a data set that only indexes a list, behind a
collate function that tokenises, looks like a slow data set to whoever times the whole.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from ..common import FAILURES

# What torch's iterator calls for each of them; taking the samples includes putting them together.
_CHOOSING, _TAKING, _TOGETHER = "_next_index", "fetch", "collate_fn"


class BatchParts:
    """Times the parts of batches that the training process makes itself."""

    def __init__(self) -> None:
        self._fastest: dict[int, dict[str, int]] = {}
        self._ns: dict[str, int] = {}
        self._loader = 0
        self._undo: list[Callable[[], None]] = []

    def before(self, iterator: Any) -> None:
        """The iterator is about to make a batch."""
        self.over()
        self._loader, self._ns = id(getattr(iterator, "_trace_advisor_loader", None)), {}
        with contextlib.suppress(*FAILURES):
            fetcher = iterator._dataset_fetcher
            for owner, name in ((iterator, _CHOOSING), (fetcher, _TAKING), (fetcher, _TOGETHER)):
                self._time(owner, name)

    def after(self) -> None:
        """It has made one: of those looked at the fastest stays, which least has interrupted."""
        found = self._ns
        self._ns = {}
        if not {_CHOOSING, _TAKING, _TOGETHER} <= found.keys():
            return
        taking = max(0, found[_TAKING] - found[_TOGETHER])
        parts = {"sampler": found[_CHOOSING], "dataset": taking, "collate": found[_TOGETHER]}
        best = self._fastest.get(self._loader)
        if best is None or sum(parts.values()) < sum(best.values()):
            self._fastest[self._loader] = parts

    def over(self) -> None:
        """Leave the iterator as it was, whether it has made a batch, ended or failed."""
        for undo in self._undo:
            with contextlib.suppress(*FAILURES):
                undo()
        self._undo = []

    def told(self, loader: Any) -> dict[str, int] | None:
        """Nanoseconds of each part of one of the loader's batches; None where none of them was looked at."""
        return self._fastest.get(id(loader))

    def _time(self, owner: Any, name: str) -> None:
        call, ns = getattr(owner, name), self._ns

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter_ns()
            result = call(*args, **kwargs)
            ns[name] = ns.get(name, 0) + time.perf_counter_ns() - began
            return result

        held = name in vars(owner)
        setattr(owner, name, timed)
        self._undo.append(lambda: setattr(owner, name, call) if held else delattr(owner, name))
