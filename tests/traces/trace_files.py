"""Files for the reader's tests: one sound trace, and ways to write it down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from building.builders import TraceBuilder
from traces.reader.read import read
from traces.trace import Trace

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"
SHARED_FILES = sorted(SHARED.glob("*.json.gz")) if SHARED.is_dir() else []

needs_shared = pytest.mark.skipif(not SHARED_FILES, reason="the recorded traces (../shared/traces) are not here")
each_shared = pytest.mark.parametrize("path", SHARED_FILES, ids=[p.name.split(".")[0] for p in SHARED_FILES])


def dtype_here(declared: str) -> str:
    """How the installed pandas names a declared dtype: before 3 texts are objects."""
    return str(pd.Series([], dtype=declared).dtype)


def sound(steps: int = 3) -> TraceBuilder:
    """A small training run: steps of 100 ms with a loader, an op, a launch, a copy and an optimizer."""
    builder = TraceBuilder()
    for number in range(steps):
        at = 1_000_000 + number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 30_000)
        builder.copy("HtoD", at + 31_000, 100, start=at + 31_020, dur=60)
        for launch in range(5):
            builder.launch(at + 40_000 + launch * 1000, kernel_start=at + 40_020 + launch * 1000, kernel_dur=800)
        builder.optimizer(at + 80_000, 5000)
    return builder


def lines(builder: TraceBuilder, *, indent: bool = True) -> str:
    """The file as torch writes it: one event per paragraph."""
    head = {key: value for key, value in builder.top.items()}
    events = ",\n".join(json.dumps(event, indent=2 if indent else None) for event in builder.events)
    return json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + events + "\n]}\n"


def read_text(folder: Path, text: str | bytes, *, strict: bool = False, name: str = "trace.json") -> Trace:
    """What the reader makes of a text."""
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return read(path, strict=strict)


def repaired(trace: Trace) -> dict[str, int]:
    """Kinds of repairs with their counts."""
    return {repair.kind: repair.count for repair in trace.repairs}


def frames(trace: Trace) -> dict[str, Any]:
    """All frames by name."""
    from traces.schema import SCHEMA

    return {name: getattr(trace, name) for name in SCHEMA}


def with_op(name: str, /, **fields: str) -> str:
    """The sound trace with one more op, its values put in as they stand."""
    values = {"ph": '"X"', "cat": '"cpu_op"', "name": f'"{name}"', "pid": "4242", "tid": "4242", "ts": "1000010.5"}
    values |= {"dur": "7", **fields}
    event = "{" + ", ".join(f'"{key}": {value}' for key, value in values.items() if value) + "}"
    return insert(event)


def insert(event: str) -> str:
    """The sound trace with a text amid its events."""
    text = lines(sound())
    middle = text.index("},\n{", len(text) // 2) + 2
    return text[:middle] + "\n" + event + "," + text[middle:]
