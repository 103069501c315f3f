"""What of the time on the CPU is the way to ops, and not what they compute: paid for each op, however little that is."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.spans.grouping import numbered
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of
from analyzer.spans.nesting import own_ns


def dispatch_ratio(tree: HostTree, spans: IntervalSet, limit_ns: float) -> float:
    """Share of the time of the ops in some spans that ops take which are short without what they call, 0..1; 0 without any.

    A backward node of 40 us may be five ops of 8 us each, and a layer a product of 50 us with three views around it. What takes
    longer computes, and a batched call computes as much. Each op counts as the lower median of its name: where a thread loses its
    core, it does so as often in long ops as in short ones, for the time that they take.

    Args:
        tree: The host's spans.
        spans: When.
        limit_ns: What an op takes without what it calls, below which it is dispatch.
    """
    rows = np.flatnonzero(tree.of_source("ops") & spans.contains(tree.frame["start_ns"].to_numpy()))
    own = np.maximum(own_ns(tree.dur_ns, tree.parent)[rows], 0)
    # Torch up to 1.8 records each op inside itself.
    rows, own = rows[own > 0], own[own > 0]
    if not len(rows):
        return 0.0
    kind = numbered(codes_of(tree.frame["name"])[rows].astype(np.int64))[0]
    order = np.lexsort((own, kind))
    kind, own = kind[order], own[order]
    first = np.flatnonzero(np.concatenate([[True], kind[1:] != kind[:-1]]))
    size = np.diff(np.append(first, len(kind)))
    usual = own[first + (size - 1) // 2]
    total = int((usual * size).sum())
    return int((usual * size)[usual < limit_ns].sum()) / total if total else 0.0


def ways_between(outside: IntervalSet, limit_ns: float) -> IntervalSet:
    """The way from each op to the next: what lies between two, and of a longer stretch so much of its beginning.

    Args:
        outside: Time outside ops.
        limit_ns: How long the way is at most.
    """
    return IntervalSet(outside.start_ns, np.minimum(outside.end_ns, outside.start_ns + int(limit_ns)))
