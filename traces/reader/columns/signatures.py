"""What distinct events have in common: phase, category, name, process and thread, looked up together once per event.

A trace of a million events holds a few hundred such signatures. One look-up gives a number; kind, name and thread follow from it
for a whole run of events at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.columns.numbers import small_integers
from traces.reader.columns.symbols import Kinds, Symbols
from traces.reader.events import Event

Int32Array = npt.NDArray[np.int32]
# Where nearly every event has a name of its own, remembering them all would take more memory than the columns do.
_MOST = 1 << 17


class Signatures:
    """Numbers signatures, and knows what each stands for.

    Args:
        kinds: The kind of each phase and category.
        names: Where names are numbered, those of events that are kept only.
        threads: Likewise pairs of process and thread.
    """

    def __init__(self, kinds: Kinds, names: Symbols, threads: Symbols) -> None:
        self._kinds, self._names, self._threads = kinds, names, threads
        self.forget()

    def forget(self) -> None:
        """Begins anew: numbers given out so far mean nothing any more."""
        self._numbers: dict[tuple[Any, ...], int] = {}
        # Of events of one phase and category, by what else they have in common.
        self._alike: dict[tuple[Any, Any], dict[tuple[Any, ...], int]] = {}
        # Name, process and thread of each.
        self._keys: list[tuple[Any, ...]] = []
        self._kind_of = np.empty(0, dtype=np.int8)
        # -1 until an event of that signature is kept.
        self._name_of = np.empty(0, dtype=np.int32)
        self._thread_of = np.empty(0, dtype=np.int32)

    def make_room(self) -> None:
        """Begins anew where too many are remembered."""
        if len(self._keys) > _MOST:
            self.forget()

    def of(self, events: Sequence[Event]) -> Int32Array:
        """The number of each event's signature; valid until room is made."""
        known = self._numbers
        # A dict without `__missing__` is read in two thirds of the time; only at first is there much that it has not.
        try:
            return small_integers([known[event.ph, event.cat, event.name, event.pid, event.tid] for event in events])
        except KeyError:
            keys = [(event.ph, event.cat, event.name, event.pid, event.tid) for event in events]
            return self._learned(known, keys, ())

    def of_alike(self, events: Sequence[Event]) -> Int32Array:
        """The same of events of one phase and category."""
        pair = events[0].ph, events[0].cat
        known = self._alike.setdefault(pair, {})
        try:
            return small_integers([known[event.name, event.pid, event.tid] for event in events])
        except KeyError:
            return self._learned(known, [(event.name, event.pid, event.tid) for event in events], pair)

    def kinds(self, numbers: Int32Array) -> npt.NDArray[np.int8]:
        """The kind of each event by phase and category, as an array of its own."""
        return self._kind_of[numbers]

    def names_and_threads(self, numbers: Int32Array) -> tuple[Int32Array, Int32Array]:
        """The codes of the name and of the thread of each event; they are numbered in the order of events."""
        unnumbered = numbers[self._name_of[numbers] < 0]
        for number in dict.fromkeys(unnumbered.tolist()):
            name, pid, tid = self._keys[number]
            self._name_of[number] = self._names[name]
            self._thread_of[number] = self._threads[pid, tid]
        return self._name_of[numbers], self._thread_of[numbers]

    def _learned(
        self, known: dict[tuple[Any, ...], int], keys: list[tuple[Any, ...]], before: tuple[Any, ...]
    ) -> Int32Array:
        """The number of each key; new ones are numbered.

        Args:
            known: Numbers by key.
            keys: What is asked for.
            before: What of each signature stands before its key.
        """
        first = len(self._keys)
        new = [key for key in dict.fromkeys(keys) if key not in known]
        known.update(zip(new, range(first, first + len(new)), strict=True))
        # The same tuples where `before` says the rest.
        self._keys += [key[-3:] for key in new]
        if len(self._keys) > len(self._kind_of):
            more = 2 * len(self._keys) - len(self._kind_of)
            self._kind_of = np.append(self._kind_of, np.zeros(more, dtype=np.int8))
            self._name_of = np.append(self._name_of, np.full(more, -1, dtype=np.int32))
            self._thread_of = np.append(self._thread_of, np.full(more, -1, dtype=np.int32))
        self._kind_of[first : len(self._keys)] = [self._kinds[(*before, *key)[:2]] for key in new]
        return small_integers([known[key] for key in keys])
