"""One step in full: every thread and stream as a lane that can be looked at from near, and the device's gaps with their causes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.cause_names import CAUSES
from analyzer.facts.nesting import nest
from analyzer.facts.step_gaps import Gap, gaps_of
from analyzer.intervals import IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

Int64Array = npt.NDArray[np.int64]

# Levels of nesting drawn of the main thread; of other threads only the outermost.
MAIN_LEVELS = 3
MOST_THREADS = 8
# Short events are drawn together over at most so many cells, so that a busy lane still says what it does where.
STRETCH_CELLS = 24
_MARKS = re.compile(r"^(?:ProfilerStep|(?:Iteration|PyTorch Profiler))\b")
_LOADER = re.compile(r"^enumerate\(DataLoader\)#_?(?:SingleProcess|MultiProcessing)?DataLoaderIter\.__next__$")


class LanePiece(msgspec.Struct, frozen=True):
    """A drawn piece, times relative to the step; `events` is how many it stands for."""

    start_ns: int
    end_ns: int
    label: str
    cause: str
    events: int


class Track(msgspec.Struct, frozen=True, eq=False):
    """A lane: disjoint events in order, times relative to the step.

    Args:
        name: `main thread`, `thread 4720 (autograd)`, `stream 7`.
        kind: host or device.
        level: Depth of nesting shown; 0 is the outermost.
        start_ns: Starts.
        end_ns: Ends.
        label: For each event an index into `labels`.
        cause: For each event an index into the causes.
        labels: The distinct names.
    """

    name: str
    kind: str
    level: int
    start_ns: Int64Array
    end_ns: Int64Array
    label: Int64Array
    cause: Int64Array
    labels: tuple[str, ...]

    @property
    def busy_ns(self) -> int:
        """Length of all events together."""
        return int((self.end_ns - self.start_ns).sum())

    def pieces(self, start_ns: int, end_ns: int, cells: int) -> tuple[LanePiece, ...]:
        """What to draw of a part of the step on so many cells: long events one by one, short neighbours as one piece.

        Args:
            start_ns: Left edge.
            end_ns: Right edge.
            cells: Width of the drawing.
        """
        first = int(np.searchsorted(self.end_ns, start_ns, side="right"))
        last = int(np.searchsorted(self.start_ns, end_ns, side="left"))
        if last <= first:
            return ()
        start, end = self.start_ns[first:last], self.end_ns[first:last]
        cell = max((end_ns - start_ns) / max(cells, 1), 1.0)
        small = (end - start) < cell * 2
        stretch = start // int(cell * STRETCH_CELLS + 1)
        # A new piece begins at a long event, after one, where the gap would fill half a cell, and in the next stretch.
        begins = np.ones(len(start), dtype=bool)
        begins[1:] = ~small[1:] | ~small[:-1] | (start[1:] - end[:-1] > cell / 2) | (stretch[1:] != stretch[:-1])
        heads = np.flatnonzero(begins)
        piece = np.cumsum(begins) - 1
        label = self._largest(piece, self.label[first:last], end - start)
        cause = self._largest(piece, self.cause[first:last], end - start)
        stops = np.append(heads[1:], len(start))
        rows = zip(start[heads].tolist(), end[stops - 1].tolist(), label, cause, (stops - heads).tolist(), strict=True)
        return tuple(
            LanePiece(begin, stop, self.labels[name] + (f" +{count - 1}" if count > 1 else ""), CAUSES[owner], count)
            for begin, stop, name, owner, count in rows
        )

    @staticmethod
    def _largest(piece: Int64Array, code: Int64Array, length: Int64Array) -> list[int]:
        """For each piece the code with the most time in it."""
        span = int(code.max()) + 1
        pairs, place = np.unique(piece * span + code, return_inverse=True)
        time = np.bincount(place, length)
        order = np.lexsort((time, pairs // span))
        last = np.append(np.flatnonzero(np.diff(pairs[order] // span)), len(order) - 1)
        largest: list[int] = (pairs[order[last]] % span).tolist()
        return largest


class StepLanes(msgspec.Struct, frozen=True, eq=False):
    """One step.

    Args:
        number: ProfilerStep number.
        start_ns: Its start in the trace.
        dur_ns: Its length.
        tracks: Host first, the main thread on top; then streams.
        gaps: Where the device (on a CPU-only trace: the main thread) does nothing, longest first.
        gaps_ns: Length of all gaps together, those not listed included.
    """

    number: int
    start_ns: int
    dur_ns: int
    tracks: tuple[Track, ...]
    gaps: tuple[Gap, ...]
    gaps_ns: int

    @property
    def events(self) -> int:
        """Events in all tracks."""
        return sum(len(track.start_ns) for track in self.tracks)


def step_lanes(facts: Facts, number: int, claims: Mapping[str, IntervalSet]) -> StepLanes:
    """Measures one step.

    Args:
        facts: The measurements.
        number: ProfilerStep number.
        claims: For each finding's id the time it explains, best finding first.
    """
    frame = facts.steps.frame
    row = frame[frame["number"] == number].iloc[0]
    start, end = int(row["start_ns"]), int(row["end_ns"])
    host = _host_spans(facts, start, end)
    tracks = (*_host_tracks(facts, host, start, end), *_device_tracks(facts, start, end))
    gaps, total = gaps_of(facts, host, start, end, used=bool(row["used"]), claims=claims)
    return StepLanes(number, start, end - start, tracks, gaps, total)


def _host_spans(facts: Facts, start: int, end: int) -> pd.DataFrame:
    """Ranges, ops and calls that touch the step: name, cause, thread, start_ns, end_ns, depth (0: outermost)."""
    trace, calls = facts.trace, facts.host.calls
    op_cause = "compute" if facts.device is None else "framework"
    moved_in = (calls["direction"] == "HtoD").fillna(False).to_numpy(dtype=bool)
    call_cause = np.select(
        [calls["blocking"].to_numpy(), moved_in, (calls["kind"] == "allocator").to_numpy()],
        ["sync", "transfer_call", "allocator"],
        np.where(calls["kind"].isin(["launch", "graph_launch", "memcpy", "memset"]), "launch", "framework"),
    )
    ranges = {"loader": "input", "optimizer_step": "optimizer", "zero_grad": "optimizer", "compile": "compile"}
    range_cause = trace.annotations["kind"].astype("object").map(ranges).fillna("framework").to_numpy()
    parts = []
    for source, cause in (
        (trace.annotations, range_cause),
        (trace.ops, op_cause),
        (trace.collectives, "communication"),
        (calls, call_cause),
    ):
        inside = ((source["end_ns"] > start) & (source["start_ns"] < end)).to_numpy()
        part = source.loc[inside, ["thread", "start_ns", "end_ns"]]
        names = source["name"][inside].astype("str").to_numpy()
        parts.append(part.assign(name=names, cause=cause[inside] if isinstance(cause, np.ndarray) else cause))
    spans = pd.concat(parts, ignore_index=True)
    spans = spans[~spans["name"].str.match(_MARKS)].reset_index(drop=True)
    depth = nest(spans["thread"].to_numpy(), spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()).depth
    return spans.assign(depth=depth)


def _host_tracks(facts: Facts, spans: pd.DataFrame, start: int, end: int) -> list[Track]:
    main = facts.main_thread
    outer = spans[spans["depth"] == 0]
    busy = (
        (outer["end_ns"] - outer["start_ns"]).groupby(outer["thread"]).sum().sort_values(ascending=False, kind="stable")
    )
    threads = [main] if main is not None else []
    threads += [int(thread) for thread in busy.index.tolist() if thread != main][: MOST_THREADS - 1]
    tracks = []
    for thread in threads:
        mine = spans[spans["thread"] == thread]
        for level in range(MAIN_LEVELS if thread == main else 1):
            rows = mine[mine["depth"] == level]
            if len(rows) or level == 0:
                name = _thread_name(facts, thread) if level == 0 else f"depth {level + 1}"
                tracks.append(_track(name, "host", level, rows, start, end, shorten=False))
    return tracks


def _thread_name(facts: Facts, thread: int) -> str:
    row = facts.trace.threads.iloc[thread]
    if thread == facts.main_thread:
        return "main thread"
    given = re.search(r"\(([^()]+)\)", str(row["name"])) if not pd.isna(row["name"]) else None
    # Every thread of a program may carry the program's name: then the number says more.
    return given.group(1) if given and "python" not in given.group(1) else f"thread {row['tid']}"


def _device_tracks(facts: Facts, start: int, end: int) -> list[Track]:
    work = facts.work
    work = work[((work["end_ns"] > start) & (work["start_ns"] < end)).to_numpy()]
    causes = work["kind"].map(
        {"compute": "compute", "memset": "compute", "collective": "communication", "copy": "copy"}
    )
    tables = {"kernels": facts.trace.kernels["name"], "copies": facts.trace.copies["name"]}
    names = np.empty(len(work), dtype=object)
    for source, table in tables.items():
        mine = (work["source"] == source).to_numpy()
        names[mine] = table.astype("str").to_numpy()[work["row"].to_numpy()[mine]]
    spans = work.assign(name=names, cause=causes)
    many = len(facts.devices) > 1
    keys = spans.groupby(["device", "stream"], sort=True)
    return [
        _track(
            f"GPU {device} stream {stream}" if many else f"stream {stream}", "device", 0, rows, start, end, shorten=True
        )
        for (device, stream), rows in keys
    ]


def _track(name: str, kind: str, level: int, rows: pd.DataFrame, start: int, end: int, *, shorten: bool) -> Track:
    rows = rows.sort_values("start_ns", kind="stable")
    codes, names = pd.factorize(rows["name"].to_numpy())
    texts = tuple(kernel_label(str(text)) if shorten else host_label(str(text)) for text in names)
    causes = rows["cause"].map({cause: index for index, cause in enumerate(CAUSES)})
    begin = np.maximum(rows["start_ns"].to_numpy(), start) - start
    # Lanes hold disjoint events; where a stream's work overlaps by a clock's rounding, the later one begins later.
    stop = np.maximum.accumulate(np.minimum(rows["end_ns"].to_numpy(), end) - start) if len(rows) else begin
    begin = np.maximum(begin, np.concatenate([[0], stop[:-1]])) if len(rows) else begin
    return Track(
        name,
        kind,
        level,
        begin.astype(np.int64),
        stop.astype(np.int64),
        codes.astype(np.int64),
        np.asarray(causes, dtype=np.int64),
        texts,
    )


_PREFIXES = (
    "aten::",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    "autograd::engine::evaluate_function: ",
    "torch::autograd::",
)


def host_label(name: str) -> str:
    """A range's name as people say it."""
    if _LOADER.match(name):
        return "next(loader)"
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def kernel_label(name: str) -> str:
    """A kernel's name without return type, namespaces and arguments: `vectorized_elementwise_kernel`."""
    head = re.split(r"[<(]", name.removeprefix("void ").replace("(anonymous namespace)::", ""), maxsplit=1)[0].strip()
    return head.rpartition("::")[2] or name if not name.startswith("Mem") else name


def choose_tracks(tracks: Sequence[Track], most: int) -> tuple[Track, ...]:
    """At most so many lanes, in order: nested levels go first, then the least busy; the main thread and a stream stay."""
    order = sorted(
        range(len(tracks)),
        key=lambda index: (tracks[index].level, index != 0 and tracks[index].kind != "device", -tracks[index].busy_ns),
    )
    kept = sorted(order[: max(most, 1)])
    return tuple(tracks[index] for index in kept)
