"""Distinct values to numbers, without a Python call for a value that was seen before."""

from __future__ import annotations

from typing import Any

from traces.reader.names.vocabulary import event_kind

# Columns of codes, and the table that each numbers.
CODED = {"name": "names", "thread": "threads", "category": "categories"} | dict.fromkeys(
    (
        "input_dims",
        "input_types",
        "input_strides",
        "concrete_inputs",
        "stack",
        "message_type",
        "message",
        "grid",
        "block",
        "residency",
        "text",
        "stated_flops",
        "stated_gigabytes",
    ),
    "texts",
)


class Symbols(dict[Any, int]):
    """Distinct values numbered in order of appearance; a missing key numbers itself (no Python call on a hit)."""

    def __missing__(self, key: Any) -> int:
        code = len(self)
        self[key] = code
        return code


class Kinds(dict[tuple[Any, Any], int]):
    """The kind of each pair of phase and category, found out once."""

    def __missing__(self, pair: tuple[Any, Any]) -> int:
        kind = self[pair] = int(event_kind(*pair))
        return kind
