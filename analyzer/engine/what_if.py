"""The claims of all findings as a document from which any choice of them can be summed, exactly as `totals.saved_ns` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer import analysis as doc
from analyzer.cause_names import CAUSES
from analyzer.engine import Judged
from analyzer.engine.totals import expected, shorter_by
from analyzer.facts import Facts
from analyzer.facts.time.waterfall import Waterfall
from analyzer.finding import Shortened
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet

# A quarter of a megabyte of ends: enough that the work of a stretch hides what beginning one costs.
_AT_ONCE = 1 << 15
# Sets that one number holds, a binary digit each.
_BITS = 62


def what_if(facts: Facts, judged: Sequence[Judged]) -> doc.WhatIf:
    """What each choice of the findings takes from the used steps; those without a saving inside them are left out."""
    chosen = [item for item in judged if item.finding.saving.total_ns or item.finding.saving.behind]
    claimed, usual = _claimed(chosen, usual=False), _claimed(chosen, usual=True)
    pieces = Pieces(facts.time.waterfall)
    on_host = facts.device.main is None
    stated = _together(pieces, claimed, on_host=on_host)
    likely = _together(pieces, usual, on_host=on_host) if usual != claimed else stated
    return doc.WhatIf(
        ids=tuple(item.identity for item in chosen),
        kinds=tuple(item.finding.saving.kind.value for item in chosen),
        stated=stated,
        likely=likely if likely != stated else None,
    )


class _Claimed(msgspec.Struct, frozen=True):
    """What findings take.

    Args:
        claims: The time that each claims.
        shorter: The kernels that become shorter, by the place of the finding.
        unplaced: What goes of kernels that are not named.
    """

    claims: list[IntervalSet]
    shorter: list[tuple[int, Shortened]]
    unplaced: list[doc.UnplacedTime]


def _claimed(chosen: Sequence[Judged], *, usual: bool) -> _Claimed:
    """What findings take: all that they state, or what usually comes true of it."""
    found = _Claimed([], [], [])
    for place, item in enumerate(chosen):
        saving = item.finding.saving
        found.claims.append(saving.likely_claims if expected(saving, usual=usual) else saving.most_claims)
        shorter = shorter_by(saving, usual=usual)
        found.shorter.extend((place, one) for one in shorter.parts)
        if shorter.unnamed_ns > 0:
            found.unplaced.append(doc.UnplacedTime(by=place, ns=shorter.unnamed_ns))
    return found


def _together(pieces: Pieces, claimed: _Claimed, *, on_host: bool) -> doc.Together:
    return doc.Together(
        claims=tuple(
            doc.ClaimedTime(by=by, cause=cast("Any", cause), ns=ns) for by, cause, ns in pieces.of(claimed.claims)
        ),
        shorter=tuple(_shorter(pieces, claimed.shorter)),
        unplaced=tuple(claimed.unplaced),
        shrinking=tuple(cast("Any", cause) for cause in (CAUSES if on_host else ("compute",))),
    )


def _shorter(pieces: Pieces, parts: Sequence[tuple[int, Shortened]]) -> Iterator[doc.ShorterTime]:
    ways = {name: number for number, name in enumerate(dict.fromkeys(one.way for _, one in parts if one.way))}
    told = [
        doc.Shortening(by=place, way=ways.get(one.way, len(ways) + number), ratio=min(one.ratio, 1.0))
        for number, (place, one) in enumerate(parts)
    ]
    for by, cause, ns in pieces.of([one.spans for _, one in parts]):
        yield doc.ShorterTime(parts=tuple(told[number] for number in by), cause=cast("Any", cause), ns=ns)


class Pieces:
    """Time cut wherever one of some sets begins or ends, or its cause changes.

    Looked at in one stretch of the trace after another: of millions of pieces all at once take more memory than the sets.

    Args:
        waterfall: The cause of each moment.
        at_once: About how many ends of intervals are looked at together.
    """

    def __init__(self, waterfall: Waterfall, at_once: int = _AT_ONCE) -> None:
        self._owned = [waterfall.owned(cause) for cause in CAUSES]
        self._at_once = at_once
        self._told: list[tuple[list[IntervalSet], list[tuple[tuple[int, ...], str | None, int]]]] = []

    def of(self, sets: list[IntervalSet]) -> list[tuple[tuple[int, ...], str | None, int]]:
        """Which sets cover the same time, of which cause it is, and how much there is of it, nanoseconds."""
        # What usually comes true is mostly of the same time as all that is stated.
        for asked, told in self._told:
            if asked == sets:
                return told
        told = list(self._summed(sets))
        self._told.append((sets, told))
        return told

    def _summed(self, sets: Sequence[IntervalSet]) -> Iterator[tuple[tuple[int, ...], str | None, int]]:
        found: dict[tuple[int, ...], Int64Array] = {}
        # Most of what causes own lies in none of the sets.
        wanted = IntervalSet.union(sets)
        owned = [one.touching(wanted) for one in self._owned]
        for begin, end in _stretches([*sets, *owned], self._at_once):
            here = _covered([one.clip(begin, end) for one in sets], [one.clip(begin, end) for one in owned])
            for members, ns in here:
                found[members] = found.get(members, 0) + ns
        # As numbers of which each set is one binary digit, the first the highest: the order does not depend on the stretches.
        for members in sorted(found, key=lambda members: [place in members for place in range(len(sets))]):
            none, *causes = found[members].tolist()
            for cause, ns in [*zip(CAUSES, causes, strict=True), (None, none)] if members else ():
                if ns > 0:
                    yield members, cause, ns


def _stretches(sets: Sequence[IntervalSet], at_once: int) -> Iterator[tuple[int, int]]:
    """Begin and end of stretches that together hold all of some sets, each about as many ends of intervals."""
    some = [one for one in sets if one]
    if not some:
        return
    most = max(some, key=len)
    stretches = max(2 * sum(map(len, some)) // at_once, 1)
    each = max(len(most) // stretches, 1)
    inner = most.start_ns[each::each].tolist()
    first, last = min(int(one.start_ns[0]) for one in some), max(int(one.end_ns[-1]) for one in some)
    yield from pairwise([first, *(at for at in inner if at > first), last])


def _covered(sets: Sequence[IntervalSet], owned: Sequence[IntervalSet]) -> Iterator[tuple[tuple[int, ...], Int64Array]]:
    """Which sets cover the same time, and how much of it is of no cause, and of each.

    Args:
        sets: What covers.
        owned: What each cause owns; disjoint.
    """
    edges = np.concatenate([edge for one in (*sets, *owned) for edge in (one.start_ns, one.end_ns)])
    # Runs that are sorted are only merged.
    edges.sort(kind="stable")
    edges = edges[np.append(True, edges[1:] != edges[:-1])] if len(edges) else edges
    # 0 is no cause. No moment has two, so that their numbers add up to the one it has.
    causes = _added(edges, owned, range(1, len(owned) + 1), np.dtype(np.int8))
    by: list[tuple[int, ...]] = [()]
    group = np.zeros(len(causes), dtype=np.int64)
    for first in range(0, len(sets), _BITS):
        some = sets[first : first + _BITS]
        bits = _added(edges, some, [1 << place for place in range(len(some))], np.dtype(np.int64))
        # Numbered anew: as many as there are, not as there might be.
        number, there = pd.factorize(bits)
        both, pairs = pd.factorize(group * len(there) + number)
        members = [tuple(first + place for place in range(len(some)) if mask >> place & 1) for mask in there.tolist()]
        by = [by[pair // len(there)] + members[pair % len(there)] for pair in pairs.tolist()]
        group = both
    total = np.zeros(len(by) * (len(owned) + 1), dtype=np.int64)
    np.add.at(total, group * (len(owned) + 1) + causes, np.diff(edges))
    yield from zip(by, total.reshape(len(by), -1), strict=True)


def _added(
    edges: Int64Array, sets: Sequence[IntervalSet], values: Sequence[int], dtype: np.dtype[Any]
) -> npt.NDArray[np.signedinteger[Any]]:
    """For each piece between two edges the values of the sets it lies in, added; shape (edges - 1,).

    Args:
        edges: Starts and ends of all sets, sorted.
        sets: What pieces lie in.
        values: Of each set.
        dtype: Holds any sum of the values.
    """
    change = np.zeros(len(edges), dtype=dtype)
    for one, value in zip(sets, values, strict=True):
        # No two intervals of one set begin, or end, at the same time.
        change[np.searchsorted(edges, one.start_ns)] += value
        change[np.searchsorted(edges, one.end_ns)] -= value
    return np.cumsum(change, dtype=dtype)[:-1]
