"""Ranges of the program's own that repeat and tile the recording: its steps, whatever they are called.

A range around a part of a step leaves the rest of the step between itself and the next one; ranges around the layers of a model
leave what is before the first and behind the last of each pass between some of them. What may be either is taken for neither.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import LAUNCHING
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import distinct_texts, is_any
from analyzer.spans.moments import moments_in
from traces.patterns import Pattern
from traces.trace import Trace

# Two repetitions are a pair, not a rhythm.
MIN_REPETITIONS = 3
# What differs from one iteration to the next: its number, and what a server says of its requests (`step[DECODE bs=4]`).
VARYING = Pattern(r"(?<=\w)\[.*|\d+")
_SAID = Pattern(r"(?<=\w)\[.*")
# The largest part of a training step is its backward pass, twice as long as the forward pass: two thirds. What tiles takes more.
TILING_RATIO = 0.8
# Where one ends and the next begins at once, each of the two times is rounded by itself: to 1 ns, to 1 us before torch 2.2.
_ROUNDED_NS = 1_000
# Work between two of them is work between any two: an iteration's loading, its logging. Between some of them it is what a pass does
# beside its layers, or an iteration now and then; nobody can tell.
_ALWAYS_RATIO = 0.9
# Parts of a model, and of a step; a player is no layer.
PART = Pattern(
    r"(?<!p)layer|block|stage|module|attention|attn|mlp|expert|encoder|decoder|embed|micro_?batch", re.IGNORECASE
)


class Tiling(msgspec.Struct, frozen=True):
    """Ranges that tile.

    Args:
        name: What they are called, what differs left out.
        start_ns: Start of each, sorted, shape (n,).
        end_ns: End of each, shape (n,).
        thread: Row in `trace.threads` of their thread.
    """

    name: str
    start_ns: Int64Array
    end_ns: Int64Array
    thread: int


def tiling_ranges(trace: Trace) -> Tiling | None:
    """The longest ranges that tile what the host does; None where none do, or where they may be parts of something larger.

    Args:
        trace: The trace.
    """
    ranges = trace.annotations[is_any(trace.annotations["kind"], "user")]
    if len(ranges) < MIN_REPETITIONS:
        return None
    begin, end = host_extent(trace)
    names = distinct_texts(ranges["name"])
    alike = np.array(["" if PART.search(name) else VARYING.sub("#", name) for name in names] + [""], dtype=object)
    groups = alike[ranges["name"].cat.codes.to_numpy()]
    best: Tiling | None = None
    for (name, _), rows in ranges.groupby([groups, ranges["thread"]]):
        since, until = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        if not name or len(rows) < MIN_REPETITIONS or int((until - since).sum()) < TILING_RATIO * (end - begin):
            continue
        found = Tiling(called(rows, str(name)), since, until, int(rows["thread"].iloc[0]))
        if not _are_parts(trace, ranges, rows, found) and (best is None or len(since) < len(best.start_ns)):
            best = found
    return best


def called(ranges: pd.DataFrame, alike: str) -> str:
    """What ranges that are alike are called: the one name they have (`code2wav`), or what their names share (`step #`)."""
    names = ranges["name"].astype("str").unique()
    return str(names[0] if len(names) == 1 else alike).strip("_# ")


def cross(start_ns: Int64Array, end_ns: Int64Array) -> bool:
    """Whether one of these ranges begins before the one in front of it has ended, by more than rounding makes of it.

    Args:
        start_ns: Start of each, sorted.
        end_ns: End of each.
    """
    return bool((start_ns[1:] < end_ns[:-1] - _ROUNDED_NS).any())


def host_extent(trace: Trace) -> tuple[int, int]:
    """From the first to the last thing the host does: ops, ranges, calls that put work on a device; (0, 0) without any."""
    calls = trace.runtime[is_any(trace.runtime["kind"], *LAUNCHING)]
    frames = [frame for frame in (trace.ops, trace.annotations, calls) if len(frame)]
    begin = min((int(frame["start_ns"].to_numpy().min()) for frame in frames), default=0)
    return begin, max((int(frame["end_ns"].to_numpy().max()) for frame in frames), default=0)


def _are_parts(trace: Trace, ranges: pd.DataFrame, mine: pd.DataFrame, found: Tiling) -> bool:
    """Whether something speaks of a larger period than these ranges have."""
    start, end = found.start_ns, found.end_ns
    # Nested or crossing ranges of one name are no iterations.
    if cross(start, end):
        return True
    # Numbers that begin again count something inside a larger thing; those of iterations go on.
    numbered = len({_SAID.sub("", name) for name in mine["name"].astype(str).unique()})
    if 1 < numbered < len(mine):
        return True
    others = ranges[(ranges["thread"] == found.thread) & ~ranges.index.isin(mine.index)]
    held = moments_in(start, others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    if ((held > 1) & (held < len(start))).any():
        return True
    if counted_seldom(trace, len(start)):
        return True
    working = _between(trace, found)
    return 0 < working < _ALWAYS_RATIO * (len(start) - 1)


def counted_seldom(trace: Trace, number: int) -> bool:
    """Whether a loader, an optimizer or its `zero_grad` speaks of fewer iterations than there are repetitions.

    Args:
        trace: The trace.
        number: Of repetitions.
    """
    kinds = trace.annotations["kind"]
    return any(0 < int(is_any(kinds, kind).sum()) < number - 1 for kind in ("loader", "optimizer_step", "zero_grad"))


def _between(trace: Trace, found: Tiling) -> int:
    """In how many of the gaps between two of the ranges their thread begins an op or puts work on a device."""
    calls = trace.runtime[is_any(trace.runtime["kind"], *LAUNCHING)]
    begins = [frame["start_ns"].to_numpy()[frame["thread"].to_numpy() == found.thread] for frame in (trace.ops, calls)]
    at = np.sort(np.concatenate(begins))
    return int((np.searchsorted(at, found.start_ns[1:]) > np.searchsorted(at, found.end_ns[:-1])).sum())
