"""Make a trace fit to hand around: known top-level keys only, no absolute path in any event.

torch writes the host's name and the path of the file into every trace. Keys are kept by an allow-list
(rule PG009), so that one a later torch adds is dropped until somebody looked at it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from traces.allowed import shareable
from traces.collect.output.paths import PathCleaner

_MARK = "ProfilerStep#"
_IS_MARK = re.compile(rf"{_MARK}\d+")
_Document = dict[str, msgspec.Raw]
_decode_document = msgspec.json.Decoder(_Document).decode
_decode_events = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Event(msgspec.Struct):
    """As much of an event as counting needs."""

    name: str = ""
    cat: str = ""


class CleanTrace(msgspec.Struct, frozen=True):
    """A trace ready to be written.

    Attributes:
        content: the JSON text, UTF-8.
        events: how many events it holds.
        steps: how many of them are ProfilerStep marks of the host.
    """

    content: bytes
    events: int
    steps: int


def clean_trace(
    content: bytes,
    advisor: dict[str, Any],
    project: Path,
    whole_steps: int | None = None,
    first_step: int | None = None,
) -> CleanTrace:
    """Rewrite an exported trace with what may be shared, and `advisor` as its metadata.

    Events are kept byte for byte (a decimal time stamp read as a float may lose digits) but for the
    strings that hold a path.

    Args:
        content: what `export_chrome_trace` wrote.
        advisor: the metadata document.
        project: folder that paths become relative to.
        whole_steps: how many steps were recorded to their end: the mark of one that was cut short is left out. None for all.
        first_step: the number our own marks of steps count from: others are left out, and ours then count from 0. None where
            all marks stay as they are.

    Raises:
        msgspec.DecodeError: `content` is not a trace in JSON.
    """
    document = _decode_document(content)
    cleaner = PathCleaner(project)
    events = [_clean_event(raw, cleaner) for raw in _decode_events(document.pop("traceEvents"))]
    names = msgspec.json.decode(msgspec.json.encode(events), type=list[_Event])
    if first_step is not None:
        events, names = _own_marks(events, names, first_step)
    torn = _torn(names, whole_steps) if whole_steps is not None else frozenset()
    if torn:
        events = [raw for raw, event in zip(events, names, strict=True) if event.name not in torn]
    kept: dict[str, Any] = {}
    for key, raw in document.items():
        value = shareable(key, msgspec.json.decode(raw))
        if value is not None:
            # What a program calls its groups by is text of its own.
            kept[key] = cleaner.clean(value)
    kept["advisor"] = advisor
    kept["traceEvents"] = events
    marks = [event.name for event in names if event.name.startswith(_MARK) and event.cat == "user_annotation"]
    return CleanTrace(msgspec.json.encode(kept), len(events), sum(name not in torn for name in marks))


def _number(event: _Event) -> int | None:
    """The number of the step that an event marks; None for any other event."""
    return int(event.name[len(_MARK) :]) if _IS_MARK.fullmatch(event.name) else None


def _own_marks(
    events: list[msgspec.Raw], names: list[_Event], first_step: int
) -> tuple[list[msgspec.Raw], list[_Event]]:
    """The events without the marks of a profiler that the script itself steps, and with ours counted from 0."""
    kept_events, kept_names = [], []
    for raw, event in zip(events, names, strict=True):
        number = _number(event)
        if number is not None:
            if number < first_step:
                continue
            event.name = f"{_MARK}{number - first_step}"
            mark = msgspec.json.decode(raw, type=_Document)
            raw = msgspec.Raw(msgspec.json.encode(mark | {"name": event.name}))
        kept_events.append(raw)
        kept_names.append(event)
    return kept_events, kept_names


def _torn(names: list[_Event], whole_steps: int) -> frozenset[str]:
    """Names of the marks after so many steps: of what began when the loop, or the recording, was ended in its middle."""
    numbers = {number for number in map(_number, names) if number is not None}
    return frozenset(f"{_MARK}{number}" for number in sorted(numbers)[whole_steps:])


def _clean_event(raw: msgspec.Raw, cleaner: PathCleaner) -> msgspec.Raw:
    if not cleaner.may_hold_path(bytes(raw)):
        return msgspec.Raw(bytes(raw))
    event = msgspec.json.decode(raw, type=_Document)
    for key in ("name", "args"):
        if key in event:
            event[key] = msgspec.Raw(msgspec.json.encode(cleaner.clean(msgspec.json.decode(event[key]))))
    return msgspec.Raw(msgspec.json.encode(event))
