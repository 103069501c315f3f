"""What a rank computes longer than its peers: the same work more slowly, or more of it.

Kernels of one name and shape are the same work. Of those whose shape no peer has, as where sequences or the tokens of experts
differ in length, it is told what the peers would take: by how long calls of other sizes take them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analyzer.ranks.summary import RankSummary

# Shapes are the program's, not the data's, where this part of a kernel's time is in those that come in every step.
_STEADY_RATIO = 0.8

# Of each shape of a kernel: calls a step, nanoseconds a step, and what one call has to do.
_Shapes = Mapping[str, tuple[float, float, float | None]]


def slower_and_more(late: RankSummary, peers: Sequence[RankSummary]) -> tuple[float, float]:
    """What slower kernels cost the rank, and what more or larger ones do, nanoseconds a step.

    Kernels without a shape say neither: those of one name may be larger or slower. Nor do those of shapes that come and go, of
    which nobody knows how much there is to do.

    Args:
        late: The rank.
        peers: Ranks that run the same program.
    """
    mine, theirs = _by_name(late), [_by_name(peer) for peer in peers]
    slower = more = 0.0
    for name in {*mine, *(name for peer in theirs for name in peer)}:
        rows, others = mine.get(name, {}), [peer.get(name, {}) for peer in theirs]
        expected = _expected_ns(rows, others)
        if expected is not None:
            slower += sum(ns for _, ns, _ in rows.values()) - expected
            more += expected - float(np.median([sum(ns for _, ns, _ in one.values()) for one in others]))
    return slower, more


def _expected_ns(rows: _Shapes, others: Sequence[_Shapes]) -> float | None:
    """What the peers would take for a rank's calls of a kernel, a step; None where that cannot be told."""
    known = sorted(
        {
            (work, ns / count)
            for one in others
            for count, ns, work in one.values()
            if work is not None and work and count
        }
    )
    expected = 0.0
    for shape, (count, ns, work) in rows.items():
        same = [one[shape][1] / one[shape][0] for one in others if shape in one and one[shape][0]]
        if same:
            expected += count * float(np.median(same))
        elif work and known:
            expected += count * _between(work, known)
        elif _steady(others):
            # Its shape is its own: that is more work, as far as anybody can tell.
            expected += ns
        else:
            return None
    return expected


def _between(work: float, known: Sequence[tuple[float, float]]) -> float:
    """How long a call of that size takes, by those of known size; beyond the largest and the smallest in proportion."""
    sizes, times = np.array(known).T
    at = float(np.clip(work, sizes[0], sizes[-1]))
    return float(np.interp(at, sizes, times)) * work / at


def _steady(others: Sequence[_Shapes]) -> bool:
    """Whether peers work on the same shapes in every step; true where none knows the kernel."""
    every = [(count, ns) for one in others for count, ns, _ in one.values()]
    return sum(ns for count, ns in every if count >= 1) >= _STEADY_RATIO * sum(ns for _, ns in every)


def _by_name(summary: RankSummary) -> dict[str, dict[str, tuple[float, float, float | None]]]:
    """Calls, time a step and work of each shape, by name."""
    steps = max(len(summary.steps), 1)
    found: dict[str, dict[str, tuple[float, float, float | None]]] = {}
    for row in summary.kernels:
        if row.shape:
            found.setdefault(row.name, {})[row.shape] = (row.count / steps, row.dur_ns / steps, row.work)
    return found
