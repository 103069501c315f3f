"""Device work joined with the call that launched it.

Joined on `correlation`, never on flow events (missing for LaunchKernelExC before kineto PR 788) nor on `External id` (equal to the
correlation in torch 1.13-2.2). One graph launch has many kernels: they share its call.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.labels import column, constant
from traces.trace import Trace

# Columns of a piece of device work that every caller needs.
_WORK = ["start_ns", "dur_ns", "end_ns", "device", "stream", "correlation"]
# Vocabularies, for columns that can be joined and compared by number.
_KINDS = ("compute", "collective", "memset", "copy")
_SOURCES = ("kernels", "copies")
# In 14 real traces no kernel starts before its launch call: a few that do are wrong ids, more of them are two clocks.
_EARLY_RATIO = 0.05
# From this share of launches that outlast their kernel on, launches wait (SY005), and the lead says nothing about the host.
BLOCKING_RATIO = 0.5
_MIN_EARLY = 5


def device_work(trace: Trace) -> pd.DataFrame:
    """All device work of the trace, sorted by start.

    Returns:
        Columns start_ns, dur_ns, end_ns, device, stream, correlation (Int64), kind (`compute`, `collective`, `memset` or `copy`),
        source (`kernels` or `copies`) and row (position in that frame).
    """
    kernels = trace.kernels[_WORK].assign(
        kind=_either(trace.kernels["collective"], "collective", "compute"),
        source=constant("kernels", len(trace.kernels), _SOURCES),
        row=range(len(trace.kernels)),
    )
    copies = trace.copies[_WORK].assign(
        kind=_either(trace.copies["direction"] == "memset", "memset", "copy"),
        source=constant("copies", len(trace.copies), _SOURCES),
        row=range(len(trace.copies)),
    )
    work = pd.concat([kernels, copies], ignore_index=True) if len(copies) else kernels.reset_index(drop=True)
    return work.sort_values(["start_ns", "end_ns"], kind="stable").reset_index(drop=True)


def _either(condition: pd.Series[bool], then: str, otherwise: str) -> pd.Series[str]:
    return column(np.where(condition, _KINDS.index(then), _KINDS.index(otherwise)), _KINDS)


def launches(trace: Trace, work: pd.DataFrame) -> pd.DataFrame:
    """Device work whose launch call is in the trace.

    Args:
        trace: The trace.
        work: From `device_work`.

    Returns:
        The rows of `work` that have a launch, index kept, with the columns launch_row (row in `trace.runtime`), launch_start_ns,
        launch_end_ns, launch_thread, launch_kind, shared (several kernels share the call: a graph) and lead_ns: start of the
        work less end of the call (negative where the call outlasts the start, or clocks are skewed).
    """
    calls = trace.runtime[["correlation", "start_ns", "end_ns", "thread", "kind"]].reset_index(names="launch_row")
    calls = calls[calls["correlation"].notna() & (calls["correlation"] != 0)]
    # A reused id: keep the launching call, not the query beside it.
    calls = calls.sort_values("kind", key=lambda kind: kind == "other", kind="stable").drop_duplicates("correlation")
    calls = calls.rename(
        columns={
            "start_ns": "launch_start_ns",
            "end_ns": "launch_end_ns",
            "thread": "launch_thread",
            "kind": "launch_kind",
        }
    )
    joined = work.reset_index(names="work").merge(calls, on="correlation", how="inner")
    kernels = joined[joined["source"] == "kernels"]
    sharing = kernels["correlation"].value_counts()
    shared = joined["correlation"].map(sharing).fillna(1).to_numpy() > 1
    joined = joined.assign(shared=shared, lead_ns=joined["start_ns"] - joined["launch_end_ns"])
    return joined.set_index("work").rename_axis(None).sort_index()


def lead_median_ns(launched: pd.DataFrame) -> int | None:
    """Median launch lead of kernels launched one by one, nanoseconds; None where there is none.

    Small (2-5 us on CUDA, 10-18 us on ROCm) means the device waits for each launch; large means a filled queue (rules.md 0.4).
    Graph launches are left out: their kernels say nothing about the host.
    """
    single = launched[(launched["source"] == "kernels") & ~launched["shared"]]
    return int(single["lead_ns"].median()) if len(single) else None


class EarlyStarts(msgspec.Struct, frozen=True):
    """Kernels that seem to start before their launch is called: no device can, so host and device do not share a clock.

    Args:
        kernels: How many do.
        launched: Kernels with a launch call.
        by_ns: By how much they start too early, median.
    """

    kernels: int
    launched: int
    by_ns: int


def early_starts(launched: pd.DataFrame) -> EarlyStarts | None:
    """Counts kernels that start before their launch is called; None where they are too few to mean anything.

    Args:
        launched: Rows of `launches` to look at.
    """
    kernels = launched[launched["source"] == "kernels"]
    ahead = (kernels["launch_start_ns"] - kernels["start_ns"]).to_numpy()
    ahead = ahead[ahead > 0]
    if len(ahead) < _MIN_EARLY or len(ahead) <= _EARLY_RATIO * len(kernels):
        return None
    return EarlyStarts(len(ahead), len(kernels), int(np.median(ahead)))


class BlockingLaunches(msgspec.Struct, frozen=True):
    """How many launches outlast their kernel.

    Args:
        launches: Launches of single kernels looked at, without those whose kernel seems to start before the call (skewed clocks).
        outlasting: Those that end no earlier than their kernel.
    """

    launches: int
    outlasting: int

    @property
    def ratio(self) -> float:
        """Share of launches that outlast their kernel; 0 without launches."""
        return self.outlasting / self.launches if self.launches else 0.0


def blocking_launches(launched: pd.DataFrame) -> BlockingLaunches:
    """Counts launches that return only after their kernel ended.

    Args:
        launched: Rows of `launches` to look at.
    """
    single = launched[(launched["source"] == "kernels") & ~launched["shared"] & (launched["launch_kind"] == "launch")]
    single = single[single["start_ns"] >= single["launch_start_ns"]]
    return BlockingLaunches(len(single), int((single["launch_end_ns"] >= single["end_ns"]).sum()))
