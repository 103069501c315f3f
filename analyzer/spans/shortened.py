"""Kernels that fixes make shorter, and what goes of their time where several fixes shorten the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.spans.arrays import FloatArray
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import IntervalSet


class Shortened(msgspec.Struct, frozen=True):
    """Kernels that a fix makes shorter, so that two rules on the same kernels are counted once.

    Args:
        spans: When they run.
        ratio: Share of that time that goes, at most; 0..1.
        way: By what means. Of two fixes with the same name here the larger counts; two different ones act one after the other.
    """

    spans: IntervalSet
    ratio: float
    way: str = ""


class Shorter(msgspec.Struct, frozen=True):
    """By how much one fix makes kernels shorter.

    Args:
        parts: Those that are known.
        named_ns: What goes of their time.
        unnamed_ns: What goes of that of others.
    """

    parts: tuple[Shortened, ...]
    named_ns: float
    unnamed_ns: float


def shorter(parts: Sequence[Shortened], all_ns: int, ns: int) -> Shorter:
    """A fix of which only a part comes true.

    Args:
        parts: The kernels behind all of it, as far as they are known.
        all_ns: By how much kernels get shorter at most.
        ns: By how much they do.
    """
    part_of = ns / all_ns if all_ns else 0.0
    mine = tuple(Shortened(one.spans, one.ratio * part_of, one.way) for one in parts)
    named_ns = together_ns(mine)
    return Shorter(mine, named_ns, max(ns - named_ns, 0.0))


def together_ns(parts: Sequence[Shortened]) -> float:
    """What goes of the kernels' time: of one way the most, of several ways each takes its share of what the others leave."""
    if not parts:
        return 0.0
    if len(parts) == 1:
        return parts[0].spans.total_ns * min(parts[0].ratio, 1.0)
    edges = distinct(np.concatenate([edge for one in parts for edge in (one.spans.start_ns, one.spans.end_ns)]))
    if len(edges) < 2:
        return 0.0
    at, length = edges[:-1], np.diff(edges)
    goes: dict[object, FloatArray] = {}
    for number, one in enumerate(parts):
        way: object = one.way or number
        mine = np.where(one.spans.contains(at), min(one.ratio, 1.0), 0.0)
        goes[way] = np.maximum(goes[way], mine) if way in goes else mine
    left = np.prod([1 - share for share in goes.values()], axis=0)
    return float(((1 - left) * length).sum())
