"""One step in full: every thread and stream as a lane that can be looked at from near, and the device's gaps with their causes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.cause_names import CAUSES
from analyzer.facts.device.launches import LAUNCHING
from analyzer.page.words.kernel_names import short
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.nesting import nest
from analyzer.views.event_details import of_device_work, of_ops
from analyzer.views.event_labels import host_label
from analyzer.views.step_gaps import Gap, gaps_of
from analyzer.views.tracks import Track, choose_tracks

if TYPE_CHECKING:
    from analyzer.facts import Facts

__all__ = ["StepLanes", "Track", "choose_tracks", "host_label", "step_lanes"]

# Levels of nesting of the main thread and of others: deeper ones hold what their parents' names say already.
MAIN_LEVELS, OTHER_LEVELS = 8, 4
MOST_THREADS = 8
_MARKS = r"^(?:ProfilerStep|(?:Iteration|PyTorch Profiler))\b"


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
    """Ranges, ops and calls that touch the step: name, detail, cause, thread, start_ns, end_ns, depth (0: outermost)."""
    trace, calls = facts.trace, facts.host.threads.calls
    op_cause = "compute" if facts.device.main is None else "framework"
    moved_in = (calls["direction"] == "HtoD").fillna(False).to_numpy(dtype=bool)
    call_cause = np.select(
        [calls["blocking"].to_numpy(), moved_in, (calls["kind"] == "allocator").to_numpy()],
        ["sync", "transfer_call", "allocator"],
        np.where(calls["kind"].isin(LAUNCHING), "launch", "framework"),
    )
    ranges = {"loader": "input", "optimizer_step": "optimizer", "zero_grad": "optimizer", "compile": "compile"}
    range_cause = trace.annotations["kind"].astype("object").map(ranges).fillna("framework").to_numpy()
    parts = []
    for source, cause in (
        (trace.annotations, range_cause),
        (trace.ops, op_cause),
        (trace.collectives, "communication"),
        (trace.gc, "python"),
        (calls, call_cause),
    ):
        inside = ((source["end_ns"] > start) & (source["start_ns"] < end)).to_numpy()
        part = source.loc[inside, ["thread", "start_ns", "end_ns"]]
        names = source["name"][inside].astype("str").to_numpy()
        detail = of_ops(source[inside]) if source is trace.ops else ""
        causes = cause[inside] if isinstance(cause, np.ndarray) else cause
        parts.append(part.assign(name=names, detail=detail, cause=causes))
    spans = pd.concat(parts, ignore_index=True)
    spans = spans[~spans["name"].str.match(_MARKS)].reset_index(drop=True)
    depth = nest(spans["thread"].to_numpy(), spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()).depth
    return spans.assign(depth=depth)


def _host_tracks(facts: Facts, spans: pd.DataFrame, start: int, end: int) -> list[Track]:
    main = facts.host.main_thread
    outer = spans[spans["depth"] == 0]
    busy = (
        (outer["end_ns"] - outer["start_ns"]).groupby(outer["thread"]).sum().sort_values(ascending=False, kind="stable")
    )
    threads = [main] if main is not None else []
    threads += [int(thread) for thread in busy.index.tolist() if thread != main][: MOST_THREADS - 1]
    tracks = []
    for thread in threads:
        mine = spans[spans["thread"] == thread]
        for level in range(MAIN_LEVELS if thread == main else OTHER_LEVELS):
            rows = mine[mine["depth"] == level]
            if len(rows) or level == 0:
                name = _thread_name(facts, thread) if level == 0 else f"depth {level + 1}"
                tracks.append(_track(name, "host", level, rows, start, end, shorten=False))
    return tracks


def _thread_name(facts: Facts, thread: int) -> str:
    row = facts.trace.threads.iloc[thread]
    if thread == facts.host.main_thread:
        return "main thread"
    given = re.search(r"\(([^()]+)\)", str(row["name"])) if not pd.isna(row["name"]) else None
    # Every thread of a program may carry the program's name: then the number says more.
    return given.group(1) if given and "python" not in given.group(1) else f"thread {row['tid']}"


def _device_tracks(facts: Facts, start: int, end: int) -> list[Track]:
    work = facts.device.work
    work = work[((work["end_ns"] > start) & (work["start_ns"] < end)).to_numpy()]
    causes = work["kind"].map(
        {
            "compute": "compute",
            "memset": "compute",
            "collective": "communication",
            "copy": "copy",
            "wait": "device_wait",
        }
    )
    tables = {"kernels": facts.trace.kernels["name"], "copies": facts.trace.copies["name"]}
    names = np.empty(len(work), dtype=object)
    for source, table in tables.items():
        mine = (work["source"] == source).to_numpy()
        names[mine] = table.astype("str").to_numpy()[work["row"].to_numpy()[mine]]
    spans = work.assign(name=names, cause=causes, detail=of_device_work(facts, work))
    many = len(facts.device.all) > 1
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
    detail, details = pd.factorize(rows["detail"].to_numpy())
    texts = tuple(short(str(text)) if shorten else host_label(str(text)) for text in names)
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
        detail.astype(np.int64),
        tuple(details.tolist()),
    )
