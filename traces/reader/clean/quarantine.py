"""Sets absurd values aside before they reach a sum, and ends what has no end.

One corrupt duration of 1e12 us makes a whole trace look busy for eleven days. What is set aside stays in the frame
`quarantined`, so that raw totals can still be had.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from traces.reader.clean.repeated import repeated
from traces.reader.clean.tables import Table, Tables
from traces.reader.clean.unfinished import end_unfinished, unfinished
from traces.reader.columns.numbers import LIMIT_US
from traces.reader.names.vocabulary import Kind

Mask = npt.NDArray[np.bool_]

_SECOND = 1_000_000_000
# No profiler window lasts a day: memory ends it long before.
_LONGEST_NS = 86_400 * _SECOND
# Below this distance a pause in the program explains a gap between events.
_FAR_NS = 60 * _SECOND
# How many times the extent of the bulk of events a stray start is away from it.
_FAR_RATIO = 100
# A group of starts is stray if it is this small beside the bulk, or all at one instant.
_STRAY_RATIO = 0.01
_INSTANT_NS = 1_000
# Fewer events say nothing about how long the window was.
_FEW = 20
# Device work that ends this much later than everything else, beyond as long as everything else lasted.
_DEVICE_FLOOR_NS = 100_000_000
# On the host a long last call is common; only what dwarfs the trace is absurd.
_HOST_FLOOR_NS = 60 * _SECOND
_HOST_RATIO = 1000
_DEVICE_RATIO = 2
# Device work on one stream runs in order, apart from small overlaps (programmatic dependent launch, ROCm's late ends).
_SUCCESSORS = 3
_LONGER_THAN_OTHERS = 10
_MANY_SUCCESSORS = 16
_LONGER_THAN_MOST = 20
# If more of a stream is out of order than this, it is no stream (merged ranks), and nothing is set aside.
_OUT_OF_ORDER_RATIO = 0.01

FRAME_OF = {
    Kind.OP: "ops",
    Kind.ANNOTATION: "annotations",
    Kind.RUNTIME: "runtime",
    Kind.KERNEL: "kernels",
    Kind.COPY: "copies",
    Kind.SYNC: "syncs",
    Kind.PYTHON: "python",
    Kind.GPU_ANNOTATION: "gpu_annotations",
    Kind.OVERHEAD: "overhead",
    Kind.COLLECTIVE: "collectives",
    Kind.STEP: "steps",
    Kind.GC: "gc",
}
_DEVICE = (Kind.KERNEL, Kind.COPY)


class Quarantine(msgspec.Struct):
    """Events set aside, as columns.

    Args:
        kinds: Frame each would have been in.
        names: Codes of their names.
        starts: On the file's clock, nanoseconds.
        durations: As recorded, nanoseconds.
        reasons: Kind of repair.
        unfinished: How many events of each frame had no end, and stay with one that was made up.
    """

    kinds: list[str] = msgspec.field(default_factory=list)
    names: list[int] = msgspec.field(default_factory=list)
    starts: list[int] = msgspec.field(default_factory=list)
    durations: list[int] = msgspec.field(default_factory=list)
    reasons: list[str] = msgspec.field(default_factory=list)
    unfinished: dict[str, int] = msgspec.field(default_factory=dict)

    def take(self, tables: Tables, kind: Kind, mask: Mask, reason: str) -> None:
        """Moves the masked events of one table here."""
        count = int(mask.sum())
        if not count:
            return
        table = tables[kind]
        self.kinds += [FRAME_OF[kind]] * count
        self.names += table["name"][mask].tolist()
        self.starts += table["start"][mask].tolist()
        self.durations += table["dur"][mask].tolist()
        self.reasons += [reason] * count
        tables.drop(kind, mask, reason)


def clean(tables: Tables) -> Quarantine:
    """Takes out of the tables, in place, what no sum may contain."""
    timed = [kind for kind in FRAME_OF if tables[kind]]
    aside = Quarantine()
    for kind in timed:
        tables.drop(kind, ~tables[kind]["start_known"].astype(bool), "missing-start")
    for kind in timed:
        # No clock shows it: all such stamps were cut to one value.
        aside.take(tables, kind, np.abs(tables[kind]["start"]) >= LIMIT_US * 1000, "absurd-start")
    for kind in timed:
        tables.drop(kind, repeated(tables[kind]), "repeated-event")
    _stray_starts(tables, timed, aside)
    for kind in timed:
        dur, known = tables[kind]["dur"], tables[kind]["dur_known"].astype(bool)
        # -1 us is how kineto marks an event that had not ended.
        aside.take(tables, kind, known & (dur < 0) & (dur != -1000), "negative-duration")
    for kind in timed:
        aside.take(tables, kind, tables[kind]["dur"] > _LONGEST_NS, "absurd-duration")
    _beyond_everything(tables, timed, aside)
    for kind, mask in _past_successors([(kind, tables[kind]) for kind in timed if kind in _DEVICE]):
        aside.take(tables, kind, mask, "absurd-duration")
    for kind in timed:
        endless = unfinished(tables[kind])
        tables.count(kind, endless, "unfinished")
        aside.unfinished[FRAME_OF[kind]] = int(endless.sum())
    end_unfinished([(kind in _DEVICE, tables[kind]) for kind in timed])
    return aside


def _stray_starts(tables: Tables, timed: list[Kind], aside: Quarantine) -> None:
    """Starts far outside the window, such as `ts: 0` among absolute stamps."""
    bounds = [(int(tables[k]["start"].min()), int(tables[k]["start"].max())) for k in timed if len(tables[k]["start"])]
    if not bounds or max(high for _, high in bounds) - min(low for low, _ in bounds) <= _FAR_NS:
        return
    starts = np.sort(np.concatenate([tables[kind]["start"] for kind in timed]))
    cuts = np.flatnonzero(np.diff(starts) > _FAR_NS) + 1
    groups = np.split(starts, cuts)
    bulk = max(groups, key=len)
    low, high = int(bulk[0]), int(bulk[-1])
    far = max(_FAR_NS, _FAR_RATIO * (high - low))
    strays = [
        (int(group[0]), int(group[-1]))
        for group in groups
        if (group[-1] < low - far or group[0] > high + far)
        and (len(group) < _STRAY_RATIO * len(bulk) or group[-1] - group[0] < _INSTANT_NS or group[-1] <= 0)
    ]
    for kind in timed:
        start = tables[kind]["start"]
        mask = np.zeros(len(start), dtype=bool)
        for first, last in strays:
            mask |= (start >= first) & (start <= last)
        # A range that spans the bulk of events began early, that is all.
        mask &= ~((start < low) & (start + np.minimum(tables[kind]["dur"], _LONGEST_NS) >= low))
        aside.take(tables, kind, mask, "absurd-start")


def _beyond_everything(tables: Tables, timed: list[Kind], aside: Quarantine) -> None:
    """Events that end long after every other one has: nothing else in the trace saw that time pass."""
    rows = sum(len(tables[kind]["start"]) for kind in timed)
    if rows < _FEW:
        return
    origin = min(int(tables[kind]["start"].min()) for kind in timed if len(tables[kind]["start"]))
    ends = {kind: tables[kind]["start"] + np.maximum(tables[kind]["dur"], 0) for kind in timed}
    # The last few events, and the one before them: of each kind as many, all of them may be kernels behind a host that is done.
    most = max(rows // 100, 3) + 1
    top = np.sort(np.concatenate([np.partition(e, -most)[-most:] if len(e) > most else e for e in ends.values()]))
    top = top[-most:]
    host_end = 0
    for kind in sorted(timed, key=_DEVICE.__contains__):
        device = kind in _DEVICE
        ratio, floor = (_DEVICE_RATIO, _DEVICE_FLOOR_NS) if device else (_HOST_RATIO, _HOST_FLOOR_NS)
        gaps = np.diff(top) > np.maximum(ratio * (top[:-1] - origin), floor)
        if gaps.any():
            # A call that waited for the work vouches for its length.
            limit = max(int(top[int(np.argmax(gaps))]), host_end + floor)
            aside.take(tables, kind, ends[kind] > limit, "absurd-duration")
        if not device and len(tables[kind]["start"]):
            host_end = max(host_end, int((tables[kind]["start"] + tables[kind]["dur"]).max()))


def _past_successors(tables: list[tuple[Kind, Table]]) -> list[tuple[Kind, Mask]]:
    """Device work that ends past many later starts on its stream, and is far longer than anything else there.

    Kernels and copies of a stream take turns: a copy may be too long for the kernels behind it while no copy follows.
    """
    if not tables:
        return []
    starts, durations, threads = (
        np.concatenate([table[column] for _, table in tables]) for column in ("start", "dur", "thread")
    )
    mask = np.zeros(len(starts), dtype=bool)
    # All streams at once: to look through all rows for each takes minutes where there are 100,000.
    order = np.lexsort((starts, threads))
    for rows in np.split(order, np.flatnonzero(np.diff(threads[order])) + 1):
        start, dur = starts[rows], np.maximum(durations[rows], 0)
        if len(rows) < _SUCCESSORS + 1:
            continue
        passed = np.searchsorted(start, start + dur) - np.arange(len(rows)) - 1
        most = np.quantile(dur, 0.99) if len(rows) > 200 else np.median(dur)
        suspect = (passed >= _MANY_SUCCESSORS) & (dur > _LONGER_THAN_MOST * most)
        others = np.sort(dur[~suspect])
        # Of the rest, one that is alone in its length.
        if len(others) > 1:
            suspect |= (passed >= _SUCCESSORS) & (dur > _LONGER_THAN_OTHERS * others[-2])
        if suspect.sum() <= max(_SUCCESSORS, _OUT_OF_ORDER_RATIO * len(rows)):
            mask[rows[suspect]] = True
    parts = np.split(mask, np.cumsum([len(table["start"]) for _, table in tables])[:-1])
    return [(kind, part) for (kind, _), part in zip(tables, parts, strict=True)]
