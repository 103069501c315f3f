"""What a rank computes longer than its peers: the same work more slowly, or more of it.

Kernels of one name and shape are the same work. Of those whose shape no peer has, as where sequences or the tokens of experts
differ in length, it is told what the peers would take: by how long calls of other sizes take them. How often a kernel runs is known
without shapes as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
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


class MoreCalls(msgspec.Struct, frozen=True):
    """Kernels that a rank runs more often than its peers, a step.

    Args:
        ns: What the calls beyond theirs take; where shapes were recorded as long as peers would.
        name: The kernel of which those take most.
        calls: How many of it there are.
    """

    ns: float
    name: str
    calls: float


def more_calls(late: RankSummary, peers: Sequence[RankSummary]) -> MoreCalls:
    """What the rank runs beyond its peers, whatever its size: larger work in as many calls is none of it.

    Args:
        late: The rank.
        peers: Ranks that run the same program.
    """
    theirs = [_calls_by_name(peer) for peer in peers]
    shapes, others = _by_name(late), [_by_name(peer) for peer in peers]
    whole, longest = 0.0, MoreCalls(0.0, "", 0.0)
    for name, (calls, ns) in _calls_by_name(late).items():
        beyond = calls - float(np.median([one.get(name, (0.0, 0.0))[0] for one in theirs]))
        if beyond <= 0:
            continue
        # As `slower_and_more` has it, where shapes tell: a call takes as long as it takes the peers.
        told = _expected_ns(shapes[name], [one.get(name, {}) for one in others]) if name in shapes else None
        taken = (ns if told is None else told) * beyond / calls
        whole += taken
        longest = max(longest, MoreCalls(taken, name, beyond), key=lambda one: one.ns)
    return MoreCalls(whole, longest.name, longest.calls)


def _calls_by_name(summary: RankSummary) -> dict[str, tuple[float, float]]:
    """Calls and time a step of each kernel, of all its shapes."""
    steps = max(len(summary.steps), 1)
    found: dict[str, tuple[float, float]] = {}
    for row in summary.kernels:
        calls, ns = found.get(row.name, (0.0, 0.0))
        found[row.name] = (calls + row.count / steps, ns + row.dur_ns / steps)
    return found


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
