"""Waits for an event that do not say, or cannot mean, the call that recorded it: which stream waits for what then stays unknown.

torch's own `_trace_validator` (2.15) checks the same: such a wait names a recording of the event, and one before itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.labels import is_any, matching
from analyzer.units import share
from traces.ordering import found_in
from traces.trace import Trace

_OF_STREAM = "Stream Wait Event"
_NAMES = (_OF_STREAM, "Event Sync", "Event Synchronize")
# Of such waits; of a few the event was recorded before the profiler began.
_WRONG_RATIO = 0.05
_MIN_EVENTS = 3
_ROUNDING_NS = 1_000


def check(trace: Trace) -> Iterator[Symptom]:
    """Waits without a recording, and with one that is not in the trace or comes later."""
    waits = trace.syncs[is_any(trace.syncs["name"], *_NAMES)]
    if not len(waits):
        return
    awaited = waits["awaited"].to_numpy(dtype=np.int64, na_value=-1)
    wrong = awaited < 0
    calls = trace.runtime
    records = calls[matching(calls["name"], lambda name: "EventRecord" in name)]
    ids = np.concatenate(
        [records[name].to_numpy(dtype=np.int64, na_value=-1) for name in ("correlation", "external_id")]
    )
    start = np.tile(records["start_ns"].to_numpy(), 2)
    if len(records):
        # Of several calls with one number the first counts.
        order = np.lexsort((start, ids))
        ids, start = ids[order], start[order]
        place, there = found_in(ids, awaited)
        early = there & (start[place] <= waits["start_ns"].to_numpy() + _ROUNDING_NS)
        wrong |= is_any(waits["name"], _OF_STREAM) & ~early
    count = int(wrong.sum())
    if count >= _MIN_EVENTS and count >= _WRONG_RATIO * len(waits):
        yield Symptom(
            "PG007",
            Gravity.NOTE,
            f"{count:,} of {len(waits):,} waits for an event ({share(count / len(waits))}) name no call before them that recorded "
            "it: which stream waits for which cannot be told.",
            None,
            count,
            touches=(),
        )
