"""What a sequence of packets names once and refers to by number afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from traces.reader import limits

_Table = dict[int, Any]


class Referred:
    """Counts what is referred to: a file may name a text of some MB once and refer to it a million times.

    Args:
        name: File name, for messages.
    """

    def __init__(self, name: str) -> None:
        self.read_bytes = 0
        self._name = name
        self._chars = 0

    def take(self, text: Any) -> Any:
        """The same.

        Raises:
            UnreadableTraceError: All texts so far are many times the file.
        """
        if isinstance(text, str):
            self._chars += len(text)
            limits.check_written_out(self._name, self.read_bytes, self._chars)
        return text


class Interned(msgspec.Struct):
    """The tables of one sequence of packets.

    Args:
        referred: Counts what is referred to.
        names: Of events.
        categories: Of events.
        annotations: Names of arguments.
        strings: Values of arguments.
        stages: Names of stages and lanes of a device's work.
        counters: Descriptions of counters.
        track: The track of events that name none.
    """

    referred: Referred
    names: _Table = msgspec.field(default_factory=dict)
    categories: _Table = msgspec.field(default_factory=dict)
    annotations: _Table = msgspec.field(default_factory=dict)
    strings: _Table = msgspec.field(default_factory=dict)
    stages: _Table = msgspec.field(default_factory=dict)
    counters: _Table = msgspec.field(default_factory=dict)
    track: int = 0

    def add(self, data: Any) -> None:
        """Takes over what a packet names.

        Args:
            data: `perfetto.protos.InternedData`.
        """
        _named(self.names, data.event_names)
        _named(self.categories, data.event_categories)
        _named(self.annotations, data.debug_annotation_names)
        _named(self.stages, data.gpu_specifications)
        for one in data.debug_annotation_string_values:
            self.strings[one.iid] = one.str.decode("utf-8", "replace")
        for one in data.gpu_counter_descriptors:
            self.counters[one.iid] = one.counter_descriptor

    def name_of(self, event: Any) -> str:
        """The name of an event, its own or the one that it refers to; empty where that was never named."""
        if not event.HasField("name_iid"):
            return str(event.name)
        return str(self.referred.take(self.names.get(event.name_iid, "")))


def _named(table: _Table, entries: Iterable[Any]) -> None:
    for one in entries:
        table[one.iid] = one.name


def argument(note: Any, interned: Interned) -> tuple[str, Any]:
    """Name and value of a `perfetto.protos.DebugAnnotation`."""
    if not note.HasField("name_iid"):
        return note.name, _value(note, interned)
    return interned.referred.take(interned.annotations.get(note.name_iid, "")), _value(note, interned)


def _value(note: Any, interned: Interned) -> Any:
    if note.dict_entries:
        return dict(argument(one, interned) for one in note.dict_entries)
    if note.array_values:
        # One without a value is an empty list, as the shape of a number is.
        return [_value(one, interned) if one.ListFields() else [] for one in note.array_values]
    kind = note.WhichOneof("value")
    if kind == "string_value_iid":
        return interned.referred.take(interned.strings.get(note.string_value_iid))
    if kind == "legacy_json_value":
        return _json(note.legacy_json_value)
    # An empty list or dict has no value at all.
    return getattr(note, kind) if kind and kind not in ("nested_value", "proto_value") else None


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
