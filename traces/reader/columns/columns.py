"""Runs of events to columns: symbols for strings, integer nanoseconds, one growing table per kind of event.

Memory is bounded by the columns kept: a run of events is turned into arrays and dropped before the next is decoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.columns.arguments import ARGUMENTS, Int32Array, codes
from traces.reader.columns.ascend import ascend_kind
from traces.reader.columns.by_category import KINDS, pairs_of, structs_of
from traces.reader.columns.growing import Growing
from traces.reader.columns.numbering import EventNumbers
from traces.reader.columns.numbers import integers, nanoseconds
from traces.reader.columns.pairs import Pairs
from traces.reader.columns.signatures import Signatures
from traces.reader.columns.symbols import CODED, Kinds, Symbols
from traces.reader.events import FIRST_EDGE, Event
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import (
    Kind,
    event_kind,
    is_collective_range,
    is_garbage_collection,
    is_range_among_ops,
    step_number,
)

# Plain numbers: numpy takes twenty times as long to compare with a member of an enumeration.
_OP, _ANNOTATION, _PYTHON, _GC, _GRAPH_EDGE, _UNKNOWN, _HALF = map(
    int, (Kind.OP, Kind.ANNOTATION, Kind.PYTHON, Kind.GC, Kind.GRAPH_EDGE, Kind.UNKNOWN, Kind.HALF)
)
# The kind of each event, its signature, and lists of those of one kind, as far as they were made.
_Sorted = tuple[npt.NDArray[np.int8], Int32Array, dict[int, list[Event]]]


class Columns:
    """Grows one array per kind and column.

    `names`, `threads` and `texts` are the symbol tables: names of events, (pid, tid) pairs, and JSON texts of shapes
    and stacks. `numbers` knows which event each row was.

    Args:
        repairs: Where events that say too little of themselves are counted.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._pairs = Pairs(repairs)
        self.names = Symbols()
        self.threads = Symbols()
        self.texts = Symbols()
        self.categories = Symbols()  # of copies
        self.events = 0
        self.numbers = EventNumbers()
        # Of all values, those too that take no memory, because they are equal: frames and facts may well need it for them.
        self.size_bytes = 0
        # Events of unknown categories by category, thread, and whether they were taken for device work.
        self.unknown: Counter[tuple[str, tuple[Any, Any], bool]] = Counter()
        # Whether spans came in halves, whose other half may stand anywhere in the file.
        self.halves = False
        self._kinds = Kinds()
        self._signatures = Signatures(self._kinds, self.names, self.threads)
        # 0 where the name says nothing.
        self._name_kinds = np.empty(0, dtype=np.int8)
        self._tables: dict[Kind, dict[str, Growing]] = {}

    def add(self, events: Sequence[Event]) -> None:
        """Takes one run of events over."""
        self.numbers.add(self._take_over(events))
        self.events += len(events)

    def _take_over(self, events: Sequence[Event]) -> npt.NDArray[np.int8]:
        """Takes one run of events over; the kind of each."""
        kinds, signatures, parts = self._by_category(events) or self._by_phase_and_category(events)
        # Other flows and process metadata are a third of many files: they end here.
        kept = kinds != 0
        names, thread = self._signatures.names_and_threads(signatures[kept])
        if not len(names):
            return kinds
        known = kinds[kept]
        kind = self._refine(known, names)
        moved = kind != known
        kinds[kept] = kind
        for value in np.unique([known[moved], kind[moved]]).tolist():
            parts.pop(value, None)
        found = np.flatnonzero(np.bincount(kind)).tolist()
        of_kind = [parts.get(value) or list(compress(events, (kinds == value).tobytes())) for value in found]
        # What Python does per event is most of the time that reading takes: comprehensions of slots, and calls that run in C.
        start, start_known = nanoseconds([event.ts for part in of_kind for event in part])
        dur, dur_known = nanoseconds([event.dur for part in of_kind for event in part])
        order = np.argsort(kind, kind="stable")
        shared: dict[str, npt.NDArray[Any]] = {
            "name": names[order],
            "thread": thread[order],
            "start": start,
            "start_known": start_known,
            "dur": dur,
            "dur_known": dur_known,
        }
        end = 0
        for value, part in zip(found, of_kind, strict=True):
            begin, end = end, end + len(part)
            table = {column: values[begin:end] for column, values in shared.items()}
            make = ARGUMENTS.get(Kind(value))
            self._append(Kind(value), table | make(self, part) if make else table)
        return kinds

    def _by_phase_and_category(self, events: Sequence[Event]) -> _Sorted:
        self._signatures.make_room()
        signatures = self._signatures.of(events)
        kinds = self._event_kinds(signatures, events)
        self._settle(kinds, events)
        _leave_out_launches(kinds, events)
        return kinds, signatures, {}

    def _by_category(self, events: Sequence[Event]) -> _Sorted | None:
        """The same of events that tell their kind by their type; slots of one type are read in half the time."""
        structs = structs_of(events) if events else None
        if structs is None:
            return None
        self._signatures.make_room()
        kinds = KINDS[structs]
        signatures = np.zeros(len(events), dtype=np.int32)
        parts: dict[int, list[Event]] = {}
        several: set[int] = set()
        for number in np.flatnonzero(np.bincount(structs)).tolist():
            mask = structs == number
            part = list(compress(events, mask.tobytes()))
            value = int(KINDS[number])
            if value:
                several |= parts.keys() & {value}
                parts[value] = part
                signatures[mask] = self._signatures.of_alike(part)
            else:
                for pair in pairs_of(part):
                    self._kinds[pair]
        # What is of one kind stays in the order of the file.
        return kinds, signatures, {value: part for value, part in parts.items() if value not in several}

    def finish(self) -> None:
        """Takes over the spans whose halves were collected."""
        whole, halves = self._pairs.joined()
        self.numbers.join(self._take_over(whole), halves)
        # Columns are handed from process to process; nothing more is looked up.
        self._signatures.forget()

    def extend(self, other: Columns) -> None:
        """Takes over all events of other columns, which are given up, behind its own. Both are finished."""
        numbered = {
            "names": (self.names, other.names),
            "threads": (self.threads, other.threads),
            "texts": (self.texts, other.texts),
            "categories": (self.categories, other.categories),
        }
        # From a code there to the code here; the last place is for -1, which stays: there is no text.
        here = {table: np.append(codes(mine, theirs), np.int32(-1)) for table, (mine, theirs) in numbered.items()}
        for kind in list(other._tables):
            part = other.take(kind)
            self._append(kind, {c: here[CODED[c]][values] if c in CODED else values for c, values in part.items()})
        self.events += other.events
        self.numbers.extend(other.numbers)
        self.unknown.update(other.unknown)
        self._kinds.update(other._kinds)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Everything of columns that are finished and hold no halves: plain values, and arrays by name. They stay as they are."""
        arrays: dict[str, npt.NDArray[Any]] = {"kinds": self.numbers.kinds}
        for kind, table in self._tables.items():
            arrays |= {f"{kind.name}.{column}": values.whole() for column, values in table.items()}
        tables: dict[str, Any] = {
            name: list(getattr(self, name)) for name in ("names", "threads", "texts", "categories")
        }
        tables["unknown"] = [[category, *thread, device, n] for (category, thread, device), n in self.unknown.items()]
        tables["kinds"] = [[*pair, kind] for pair, kind in self._kinds.items()]
        return tables, arrays

    @classmethod
    def of(cls, tables: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], repairs: Repairs) -> Columns:
        """The columns that `state` gave."""
        made = cls(repairs)
        made.numbers = EventNumbers.of_kinds(arrays.pop("kinds"))
        made.events = len(made.numbers.kinds)
        for name, values in arrays.items():
            kind, column = name.split(".")
            made._append(Kind[kind], {column: values})
        for name in ("names", "threads", "texts", "categories"):
            table = getattr(made, name)
            for value in tables[name]:
                table[tuple(value) if name == "threads" else value] = len(table)
        for category, pid, tid, device, count in tables["unknown"]:
            made.unknown[category, (pid, tid), device] = count
        made._kinds.update({(phase, category): kind for phase, category, kind in tables["kinds"]})
        return made

    def same_as(self, other: Columns) -> bool:
        """Whether other columns, finished as these are, hold the same events: a recording that was written twice."""
        if self.events != other.events:
            return False
        (tables, arrays), (their_tables, theirs) = self.state(), other.state()
        alike = tables == their_tables and arrays.keys() == theirs.keys()
        # Of what is unknown, as NaN, the bytes are equal where the values are not.
        return alike and all(values.tobytes() == theirs[name].tobytes() for name, values in arrays.items())

    def take(self, kind: Kind) -> dict[str, npt.NDArray[Any]]:
        """All columns of one kind; empty where there was no such event. They are given up."""
        return {column: values.whole() for column, values in self._tables.pop(kind, {}).items()}

    def _settle(self, kind: npt.NDArray[np.int8], events: Sequence[Event]) -> None:
        """Sets halves of spans aside, and finds out what events without a phase are."""
        for index in np.flatnonzero(kind >= _HALF).tolist():
            event = events[index]
            if kind[index] == Kind.HALF:
                self._pairs.add(event, self.events + index)
                self.halves = True
                kind[index] = Kind.SKIP
            elif event.ts is None and event.name is None:
                self._repairs.add("empty-event", event=self.events + index)
                kind[index] = Kind.SKIP
            else:
                self._repairs.add("missing-phase", event=self.events + index)
                complete = event_kind("X", event.cat) if event.dur is not None else Kind.SKIP
                kind[index] = Kind.SKIP if complete == Kind.UNKNOWN else complete

    @property
    def held_bytes(self) -> int:
        """Memory that the values take."""
        return sum(column.held_bytes for table in self._tables.values() for column in table.values())

    @property
    def seen_categories(self) -> list[str]:
        """Every category in the file."""
        return sorted({str(category) for _, category in self._kinds if category})

    def decoded_texts(self) -> list[str]:
        """Every text, by its code."""
        return [value.decode("utf-8", "replace") if isinstance(value, bytes) else value or "" for value in self.texts]

    def _append(self, kind: Kind, part: dict[str, npt.NDArray[Any]]) -> None:
        table = self._tables.setdefault(kind, {})
        for column, values in part.items():
            if column not in table:
                table[column] = Growing(values.dtype)
            table[column].add(values)
            self.size_bytes += values.nbytes

    def _event_kinds(self, signatures: Int32Array, events: Sequence[Event]) -> npt.NDArray[np.int8]:
        kind = self._signatures.kinds(signatures)
        for index in np.flatnonzero(kind == _UNKNOWN).tolist():
            # An unknown category on a stream is device work of a backend we have not met; anything else is not.
            event = events[index]
            if not event.cat and (known := ascend_kind(event)) is not None:
                kind[index] = known
                continue
            on_device = event.args is not None and (event.args.stream is not None or event.args.device is not None)
            kind[index] = Kind.KERNEL if on_device else Kind.SKIP
            self.unknown[event.cat or "", (event.pid, event.tid), on_device] += 1
        return kind

    def _refine(self, kind: npt.NDArray[np.int8], names: Int32Array) -> npt.NDArray[np.int8]:
        """Moves ranges out of the operators, and collectives and steps out of the ranges; decided once per distinct name."""
        new = islice(reversed(self.names), len(self.names) - len(self._name_kinds))
        found = [_kind_by_name(str(name)) for name in new]
        if found:
            self._name_kinds = np.append(self._name_kinds, np.array(found[::-1], dtype=np.int8))
        by_name = self._name_kinds[names]
        host = (kind == _OP) | (kind == _ANNOTATION)
        # A step or range name decides for both categories; a collective's op stays an op beside its range.
        change = (host & (by_name != 0)) | ((kind == _PYTHON) & (by_name == _GC))
        return np.where(change, by_name, kind)


def _leave_out_launches(kinds: npt.NDArray[np.int8], events: Sequence[Event]) -> None:
    """Skips flows from launches to kernels: correlations say the same, without gaps."""
    flows = kinds == _GRAPH_EDGE
    if flows.any():
        number, known = integers(
            [event.id if type(event.id) is int else None for event in compress(events, flows.tobytes())]
        )
        kinds[np.flatnonzero(flows)[~known | (number < FIRST_EDGE)]] = Kind.SKIP


def _kind_by_name(name: str) -> Kind:
    if step_number(name) is not None:
        return Kind.STEP
    if is_collective_range(name):
        return Kind.COLLECTIVE
    if is_garbage_collection(name):
        return Kind.GC
    return Kind.ANNOTATION if is_range_among_ops(name) else Kind.SKIP
