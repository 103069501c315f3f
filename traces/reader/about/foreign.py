"""Chrome traces that another program wrote, named for what they are."""

from __future__ import annotations

import re

from traces.errors import UnreadableTraceError
from traces.reader.columns.columns import Columns
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind, event_kind

# A word in the names of processes or categories, the program, the tool that reads it.
_PROGRAMS = (
    (
        r"/host:|/device:(?:TPU|GPU|CPU)|XLA|TensorFlow",
        "JAX or TensorFlow",
        "XProf or TensorBoard (`pip install xprof`)",
    ),
    (r"devtools|blink|v8|cc,|toplevel", "Chrome's own profiler", "Chrome's developer tools"),
    (r"\b(?:FEE|fee)\b|viztracer", "VizTracer", "`vizviewer`"),
)

# What `EventList.export_chrome_trace` calls the process of the host's side, in lower case.
_WITHOUT_KINETO = "cpu functions"
_EXPORT = "name the file as prof.export_chrome_trace(...) wrote it, not one that another tool has changed"
_TIMELINE = "Op"
# The category of the span that kineto puts around every recording, an empty one too.
_OWN_SPAN = "Trace"


def beyond_clocks(name: str, repairs: Repairs) -> UnreadableTraceError | None:
    """The error for a trace whose every stamp lies far outside any clock; None where that is not what is wrong.

    Args:
        name: File name.
        repairs: What was set aside, which left nothing.
    """
    stray = next((repair for repair in repairs.listed() if repair.kind == "absurd-start"), None)
    if stray is None:
        return None
    return UnreadableTraceError(
        f"{name} states times that no clock shows",
        where=f"event {stray.first_event:,}" if stray.first_event is not None else name,
        why="`ts` counts microseconds; these may be nanoseconds, or damaged",
        fix="export it with prof.export_chrome_trace(...), or divide every `ts` and `dur` by 1000",
    )


def refuse_timeline(name: str, columns: Columns) -> None:
    """Refuses what TensorFlow's `timeline.Timeline` writes: the category of its events is a word of torch's, too.

    Args:
        name: File name.
        columns: Its events.

    Raises:
        UnreadableTraceError: Its processes are devices, as only TensorFlow names them.
    """
    pattern, program, tool = _PROGRAMS[0]
    if _TIMELINE in columns.seen_categories and re.search(pattern, " ".join(columns.decoded_texts())):
        raise _of_program(name, program, tool)


def _of_program(name: str, program: str, tool: str) -> UnreadableTraceError:
    return UnreadableTraceError(
        f"{name} is a Chrome trace of {program}, not of torch.profiler",
        where="the names of its processes and categories",
        fix=f"open it with {tool}, or at https://ui.perfetto.dev",
    )


def not_from_torch(name: str, columns: Columns, repairs: Repairs) -> UnreadableTraceError:
    """The error for a Chrome trace that holds nothing torch.profiler writes.

    Args:
        name: File name.
        columns: Its events.
        repairs: What was mended, or left out.
    """
    words = list(columns.seen_categories)
    known = [word for word in words if event_kind("X", word) not in (Kind.UNKNOWN, Kind.SKIP)]
    if known:
        return UnreadableTraceError(
            f"{name} states no times that can be read",
            where=f"{columns.events:,} events, of {', '.join(known[:5])}",
            why="their `ts` or `dur` are no numbers, or their phase (`ph`) is none of X, B and E",
            fix=_EXPORT,
        )
    if repairs.count("truncated") and not columns.unknown:
        return UnreadableTraceError(
            f"{name} ends before the first event that takes time",
            where=f"{columns.events:,} events",
            why="the export was interrupted, or only the beginning of the file was copied",
            fix="wait until export_chrome_trace has returned, and copy the file again whole",
        )
    if _OWN_SPAN in words:
        return UnreadableTraceError(
            f"{name} holds no event of the program, only the profiler's own span",
            where=f"{columns.events:,} events",
            why="a new cycle of the schedule began before the export and cleared what was recorded, or the work ran in threads "
            "that the profiler was not started in",
            fix="record with schedule(wait=..., warmup=..., active=..., repeat=1), export in on_trace_ready, and start the "
            "profiler in the thread that works",
        )
    if any(str(pid).lower() == _WITHOUT_KINETO for _, (pid, _), _ in columns.unknown):
        return UnreadableTraceError(
            f"{name} was written by torch.autograd.profiler without Kineto: it has neither launches nor kernels' own times",
            where="processes called CPU functions and CUDA functions",
            fix="record with torch.profiler.profile of torch 1.8.1 or newer, and export from that, not from its list of events",
        )
    words += columns.decoded_texts()
    hint = " ".join(words)
    for pattern, program, tool in _PROGRAMS:
        if re.search(pattern, hint):
            return _of_program(name, program, tool)
    listed = ", ".join(sorted({word for word in words if word})[:5])
    return UnreadableTraceError(
        f"{name} is a Chrome trace, but nothing in it comes from torch.profiler",
        where=f"{columns.events:,} event{'' if columns.events == 1 else 's'}" + (f" of {listed}" if listed else ""),
        fix="record with torch.profiler, or `advisor collect`; https://ui.perfetto.dev shows this file",
    )
