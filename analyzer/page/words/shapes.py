"""Recorded shapes as people write them."""

from __future__ import annotations

import msgspec

from analyzer.page.words import safe

_MOST_COLUMNS = 60


def shapes(text: str, limit: int = _MOST_COLUMNS) -> str:
    """`[[64, 128], [], [128, 256]]` as `64x128, 128x256`; as recorded where it is no list of shapes.

    Args:
        text: `Input Dims`, JSON.
        limit: Columns.
    """
    try:
        found = msgspec.json.decode(text) if text else []
    except msgspec.DecodeError:
        return safe.name(text, limit)
    if not isinstance(found, list):
        return safe.name(text, limit)
    return safe.name(", ".join(one for one in map(_one, found) if one), limit)


def operator(op: str, dims: str) -> str:
    """An op and its inputs' shapes, as people write them: `mm 4096x64, 64x9`."""
    return f"{op.removeprefix('aten::')} {shapes(dims)}"


def _one(value: object) -> str:
    if not isinstance(value, list) or not value:
        return ""
    # A list of tensors.
    if any(isinstance(size, list) for size in value):
        return f"[{', '.join(one for one in map(_one, value) if one)}]"
    return "x".join(str(size) for size in value)
