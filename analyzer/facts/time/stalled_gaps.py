"""Stretches between ops that took far longer than before the same op in other steps.

A program that stops now and then is as likely behind them as another program that had the core. Beside ops that stand still as
often (`stalled_ops`) nobody can tell.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.stalled_ops import StalledOps, at_their_place, stalled_ops
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet

# Linux leaves a core to another program for about 3 ms at a time; what torch's ops usually vary by is less.
SLICE_NS = 2_000_000
# Before torch 2.4 times are whole microseconds.
_ROUNDED_NS = 1_000


class Stalls(msgspec.Struct, frozen=True):
    """What took at least `SLICE_NS` longer than usual at its place in the step.

    Args:
        ops: Torch's ops that did.
        gaps: Stretches outside ops that did: of each the part beyond its median.
        as_often: Whether ops stand still as often as what lies between them, so that a lack of a core explains both.
    """

    ops: StalledOps
    gaps: IntervalSet
    as_often: bool

    @property
    def without_core(self) -> IntervalSet:
        """Stretches of which nobody can tell whether the program or another one had the core."""
        return self.gaps if self.as_often else EMPTY


def stalls(steps: Steps, host: HostFacts, outside: IntervalSet) -> Stalls:
    """Measures both.

    Args:
        steps: The steps.
        host: What the host's threads do.
        outside: Time of the training thread outside ops.
    """
    ops = stalled_ops(steps, host, SLICE_NS)
    gaps = _gaps(steps, host, outside)
    return Stalls(ops, gaps, as_often=bool(len(gaps)) and ops.as_often(gaps, outside.total_ns))


def _gaps(steps: Steps, host: HostFacts, outside: IntervalSet) -> IntervalSet:
    """Of each stretch before an op what it takes beyond the median before that op; an op without one counts as 0."""
    tree = host.tree
    start = tree.frame["start_ns"].to_numpy(np.int64)
    mine = tree.of_source("ops") & (tree.frame["thread"].to_numpy() == host.main_thread)
    rows = np.flatnonzero(mine & steps.host_window.contains(start))
    rows = rows[np.argsort(start[rows], kind="stable")]
    if not len(rows) or not len(outside):
        return EMPTY
    behind = np.searchsorted(start[rows], outside.end_ns - _ROUNDED_NS)
    ended, behind = outside.end_ns[behind < len(rows)], behind[behind < len(rows)]
    length = (outside.end_ns - outside.start_ns)[: len(behind)]
    before: Int64Array = np.zeros(len(rows), dtype=np.int64)
    np.add.at(before, behind, length)
    usual = at_their_place(steps, tree.frame, rows, before)
    more = (before - usual.median_ns)[behind]
    long = usual.often[behind] & (more >= SLICE_NS)
    return IntervalSet((ended - np.minimum(more, length))[long], ended[long])
