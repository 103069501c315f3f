"""PG008 device work that goes on when it cannot: behind a call that waited for its end, or while its stream is at later work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.units import count, duration

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Calls that return when all work launched before them, on whatever stream of the device, has ended.
_WAIT_FOR_ALL = frozenset({"cudaDeviceSynchronize", "cudaCtxSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"})
# In recorded traces the last work ends 5 us or more before such a call returns; so much the other way is no rounding.
_ROUNDING_NS = 10_000
# Work on a stream runs in order, apart from small overlaps. What runs beside so many later kernels of its stream, and takes so
# many times as long as they do, has a wrong duration: one alone the reader sets aside, of many it cannot say which are wrong.
_SUCCESSORS = 16
_LONGER = 20


def check(facts: Facts) -> Iterator[Symptom]:
    """Clocks that disagree, and durations that do."""
    yield from _after_waiting(facts)
    yield from _beside_successors(facts)


def _after_waiting(facts: Facts) -> Iterator[Symptom]:
    """Work that ends after a call has waited for it. With several devices a call waits for one of them: nothing is said."""
    work = facts.launched.sort_values("launch_start_ns", kind="stable")
    calls = facts.trace.runtime
    waits = calls[calls["name"].isin(_WAIT_FOR_ALL)]
    if not len(work) or not len(waits) or work["device"].nunique() > 1:
        return
    latest = np.maximum.accumulate(work["end_ns"].to_numpy())
    before = np.searchsorted(work["launch_start_ns"].to_numpy(), waits["start_ns"].to_numpy()) - 1
    late = (latest[before] - waits["end_ns"].to_numpy())[before >= 0]
    late = late[late > _ROUNDING_NS]
    if len(late):
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"Work goes on for up to {duration(int(late.max()))} after {count(len(late), 'call')} that waited for its end: the "
            "clocks of host and device disagree.",
            "record again; if it persists, update torch and the driver",
            len(late),
        )


def _beside_successors(facts: Facts) -> Iterator[Symptom]:
    """Kernels beside which their stream runs many later ones. Branches of a graph may share a stream: those are not looked at."""
    launched = facts.launched
    kernels = launched[(launched["source"] == "kernels") & (launched["launch_kind"] == "launch")]
    found = (
        pd.concat([_crossing(mine) for _, mine in kernels.groupby(["device", "stream"])]) if len(kernels) else kernels
    )
    if len(found):
        longest = int(found["dur_ns"].max())
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"{count(len(found), 'kernel')} of up to {duration(longest)} cannot be: beside each run {_SUCCESSORS} or more later "
            "ones of its stream.",
            "record again; if it stays, report it to the maker of the profiler's driver",
            len(found),
            min(longest / max(facts.window_ns, 1), 1.0),
        )


def _crossing(kernels: pd.DataFrame) -> pd.DataFrame:
    """Those of one stream that run beside many later ones."""
    kernels = kernels.sort_values("start_ns", kind="stable")
    passed = np.searchsorted(kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()) - np.arange(len(kernels)) - 1
    dur = kernels["dur_ns"].to_numpy()
    found: pd.DataFrame = kernels[(passed >= _SUCCESSORS) & (dur > _LONGER * np.median(dur))]
    return found
