"""The second pass: which line of the user's own code calls which operator, from one or two steps recorded with stacks.

Only the places are kept, as a small table in the first recording's metadata: stacks slow a step down, so no time may come
from there.
"""

from __future__ import annotations

import re
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.output.paths import own_path

_FRAME = re.compile(r"(?P<file>.+\.py)\((?P<line>\d+)\): (?P<function>.+)")
_INSTALLED = re.compile(r"(?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|(?:^|[/\\])trace_advisor_hook[/\\]")
_MOST = 400
_NODE = "autograd::engine::evaluate_function"


class _Event(msgspec.Struct):
    name: str = ""
    cat: str = ""
    tid: Any = None
    ts: float = 0
    dur: float = 0


class _Trace(msgspec.Struct, rename="camel"):
    trace_events: list[_Event] = []


def where_table(path: Path, roots: tuple[Path, ...]) -> list[dict[str, Any]]:
    """For each operator the places of the user's code that call it most, most frequent first.

    Args:
        path: What the second pass exported.
        roots: Folders that the user's files lie in; they become relative to the first.

    Returns:
        Rows with op, file, line, function, count; empty where the pass left nothing.
    """
    try:
        events = msgspec.json.decode(path.read_bytes(), type=_Trace).trace_events
    except (OSError, msgspec.DecodeError):
        return []
    threads: dict[Any, list[_Event]] = {}
    for event in events:
        if event.cat in ("python_function", "cpu_op", "user_annotation"):
            threads.setdefault(event.tid, []).append(event)
    counts: Counter[tuple[str, str, int, str]] = Counter()
    for thread in threads.values():
        _count(sorted(thread, key=lambda event: (event.ts, -event.dur)), roots, counts)
    return [
        {"op": op, "file": file, "line": line, "function": function, "count": count}
        for (op, file, line, function), count in counts.most_common(_MOST)
    ]


def _count(events: list[_Event], roots: tuple[Path, ...], counts: Counter[tuple[str, str, int, str]]) -> None:
    """Walk a thread in time order and credit each operator to the innermost open frame of the user's.

    What the backward pass calls has no line of its own: the frame around it only says `backward()`, and crediting that would
    outvote the line that calls the same operator in the forward pass.
    """
    open_frames: list[tuple[float, tuple[str, int, str] | None]] = []
    node_end, outside = 0.0, 0
    for event in events:
        while open_frames and open_frames[-1][0] <= event.ts:
            open_frames.pop()
        if event.cat == "python_function":
            open_frames.append((event.ts + event.dur, _own(event.name, roots)))
            continue
        if event.name.startswith(_NODE):
            node_end, outside = event.ts + event.dur, len(open_frames)
        elif event.ts < node_end and not any(place for _, place in open_frames[outside:]):
            continue
        place = next((place for _, place in reversed(open_frames) if place), None)
        if place is not None and not event.name.startswith("ProfilerStep"):
            counts[(event.name, *place)] += 1


def _own(name: str, roots: tuple[Path, ...]) -> tuple[str, int, str] | None:
    """The place a frame's name states, where it is the user's own code.

    torch cuts what lies on `sys.path`, the script's own folder and the standard library alike, so we look for the file.
    """
    match = _FRAME.fullmatch(name)
    if match is None or _INSTALLED.search(match["file"]):
        return None
    source = next((root / match["file"] for root in roots if (root / match["file"]).is_file()), None)
    if source is None:
        return None
    line = _first_line(source, match["function"], int(match["line"]))
    return own_path(str(source), roots), line, match["function"]


def _first_line(source: Path, function: str, line: int) -> int:
    """The line where a function begins, of any line of it.

    A frame that was open before the profiler began has the line that ran then (torch reads `f_lineno`), all others the first one.
    """
    around = [first for name, first, last in _functions(source) if name == function and first <= line <= last]
    return max(around, default=line)


@lru_cache(maxsize=64)
def _functions(source: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, first and last line of each function of a file; nothing where it is no Python that this version reads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(_of_code(compile(source.read_bytes(), str(source), "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


def _of_code(code: types.CodeType) -> Iterator[tuple[str, int, int]]:
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    found = [row for part in inner for row in _of_code(part)]
    last = max([line for _, _, line in code.co_lines() if line is not None] + [row[2] for row in found], default=0)
    yield code.co_name, code.co_firstlineno, last
    yield from found
