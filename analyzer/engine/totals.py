"""What one or several savings give together: time that two of them claim, and kernels that two of them shorten, count once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.facts import Facts
from analyzer.finding import Figure, Saving, Shortened
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import EMPTY, IntervalSet


def saved_ns(facts: Facts, savings: Sequence[Saving], *, usual: bool = False) -> int:
    """Nanoseconds over all used steps that the savings give together; never less than any of them gives by itself.

    Args:
        facts: The measurements.
        savings: One or several.
        usual: Ask for what usually comes true of them, not for all they state; an estimate is that anyway.
    """
    claims = EMPTY
    for saving in savings:
        claims |= saving.likely_claims if expected(saving, usual=usual) else saving.most_claims
    # On a device only compute gets shorter by faster kernels; without one ops lie in several causes.
    shrinking = facts.steps.window if facts.device.main is None else facts.time.waterfall.owned("compute")
    shorter = min(_shorter_ns(savings, usual=usual), (shrinking - claims).total_ns)
    return min(claims.total_ns + shorter, facts.steps.total_ns)


def _shorter_ns(savings: Sequence[Saving], *, usual: bool) -> int:
    """By how much kernels get shorter: where it is known which, those of several savings together, else the sum."""
    parts: list[Shortened] = []
    unknown = 0.0
    for saving in savings:
        mine, unnamed = shorter_parts(saving, usual=usual)
        parts += mine
        unknown += unnamed
    return round(unknown + _together_ns(parts))


def shorter_parts(saving: Saving, *, usual: bool) -> tuple[list[Shortened], float]:
    """The kernels that a saving shortens, and by how much, nanoseconds, it shortens others that it does not name."""
    stated = saving.usual_shorter_ns if expected(saving, usual=usual) else saving.kernel_ns
    part_of = stated / saving.kernel_ns if saving.kernel_ns else 0.0
    mine = [Shortened(one.spans, one.ratio * part_of, one.way) for one in saving.shortened]
    return mine, max(stated - _together_ns(mine), 0.0)


def expected(saving: Saving, *, usual: bool) -> bool:
    """Whether what usually comes true counts: where it is asked for, and of an estimate, which is nothing else."""
    return usual or saving.kind is Figure.ESTIMATE


def _together_ns(parts: Sequence[Shortened]) -> float:
    """What goes of the kernels' time: of one way the most, of several ways each takes its share of what the others leave."""
    if len(parts) == 1:
        return parts[0].spans.total_ns * min(parts[0].ratio, 1.0)
    edges = distinct(np.concatenate([EMPTY.start_ns, *(edge for one in parts for edge in _edges(one.spans))]))
    if len(edges) < 2:
        return 0.0
    at, length = edges[:-1], np.diff(edges)
    goes: dict[object, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for number, one in enumerate(parts):
        way: object = one.way or number
        mine = np.where(one.spans.contains(at), min(one.ratio, 1.0), 0.0)
        goes[way] = np.maximum(goes[way], mine) if way in goes else mine
    left = np.prod([1 - share for share in goes.values()], axis=0)
    return float(((1 - left) * length).sum())


def _edges(spans: IntervalSet) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    return spans.start_ns, spans.end_ns
