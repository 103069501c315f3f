"""Decodes one event key by key, where a value of an unexpected type made the typed decode fail."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from traces.reader.events import Args

_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def decode_loosely(shape: type[_Struct], text: bytes) -> tuple[_Struct, int]:
    """The event, and how many values were converted or dropped.

    Raises:
        msgspec.DecodeError: The text is no JSON object.
    """
    values = _RAW.decode(text)
    fields: dict[str, Any] = {}
    wrong = 0
    for field in msgspec.structs.fields(shape):
        raw = values.get(field.encode_name)
        if raw is None:
            continue
        try:
            fields[field.name] = msgspec.json.decode(raw, type=field.type)
        except (msgspec.DecodeError, UnicodeDecodeError):
            value, inner = _otherwise(field.name, bytes(raw).strip())
            fields[field.name] = value
            wrong += inner
    return shape(**fields), wrong


def _otherwise(name: str, raw: bytes) -> tuple[Any, int]:
    """What a value of the wrong type still says, and how many were wrong."""
    if name == "args":
        try:
            return decode_loosely(Args, raw)
        except msgspec.DecodeError:
            return None, 1
    if name in ("ph", "cat", "name", "pid", "tid", "stack"):
        return (None if raw == b"null" else raw.decode("utf-8", "replace").strip('"')), 1
    if name in ("ts", "dur") and raw.startswith(b'"'):
        # Columns find out whether a text is a time; where stamps are not decimals, it gets there as it is, too.
        return raw.decode("utf-8", "replace").strip('"'), 0
    return None, 1
