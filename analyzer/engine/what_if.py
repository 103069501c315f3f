"""The claims of all findings as a document from which any choice of them can be summed, exactly as `totals.saved_ns` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer import analysis as doc
from analyzer.cause_names import CAUSES
from analyzer.engine import Judged
from analyzer.engine.totals import expected, shorter_parts
from analyzer.facts import Facts
from analyzer.facts.time.waterfall import Waterfall
from analyzer.finding import Shortened
from analyzer.spans.intervals import IntervalSet


def what_if(facts: Facts, judged: Sequence[Judged]) -> doc.WhatIf:
    """What each choice of the findings takes from the used steps; those without a saving inside them are left out."""
    chosen = [item for item in judged if item.finding.saving.total_ns or item.finding.saving.behind]
    claimed, usual = _claimed(chosen, usual=False), _claimed(chosen, usual=True)
    pieces = Pieces(facts.time.waterfall, [*claimed.sets(), *usual.sets()])
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

    def sets(self) -> Iterator[IntervalSet]:
        """All time that is named."""
        yield from self.claims
        yield from (one.spans for _, one in self.shorter)


def _claimed(chosen: Sequence[Judged], *, usual: bool) -> _Claimed:
    """What findings take: all that they state, or what usually comes true of it."""
    found = _Claimed([], [], [])
    for place, item in enumerate(chosen):
        saving = item.finding.saving
        found.claims.append(saving.likely_claims if expected(saving, usual=usual) else saving.most_claims)
        mine, unknown = shorter_parts(saving, usual=usual)
        found.shorter.extend((place, one) for one in mine)
        if unknown > 0:
            found.unplaced.append(doc.UnplacedTime(by=place, ns=unknown))
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

    Args:
        waterfall: The cause of each moment.
        sets: All that may be asked about.
    """

    def __init__(self, waterfall: Waterfall, sets: Sequence[IntervalSet]) -> None:
        owned = [waterfall.owned(cause) for cause in CAUSES]
        # What usually comes true is most often what is stated. Runs that are sorted are only merged.
        different = {id(one): one for one in (*sets, *owned)}.values()
        ends = [edge for one in different for edge in (one.start_ns, one.end_ns)]
        edges = np.concatenate(ends)
        # In place, and compared rather than subtracted: of millions each copy counts.
        edges.sort(kind="stable")
        self._edges = edges[np.append(True, edges[1:] != edges[:-1])] if len(edges) else edges
        del edges
        self._length = np.diff(self._edges)
        # 0 is no cause. No moment has two, so that their numbers add up to the one it has.
        self._cause = np.zeros(len(self._length), dtype=np.int8)
        for number, one in enumerate(owned, 1):
            self._cause += number * self._inside(one)

    def of(self, sets: Sequence[IntervalSet]) -> Iterator[tuple[tuple[int, ...], str | None, int]]:
        """Which sets cover the same time, of which cause it is, and how much there is of it, nanoseconds."""
        by: list[tuple[int, ...]] = [()]
        group = np.zeros(len(self._length), dtype=np.int32)
        for place, one in enumerate(sets):
            doubled = 2 * group + self._inside(one)
            # Numbered anew: as many as there are, not as there might be.
            there = np.bincount(doubled) > 0
            group = (np.cumsum(there, dtype=np.int32) - 1)[doubled]
            by = [(*by[code // 2], place) if code % 2 else by[code // 2] for code in np.flatnonzero(there).tolist()]
        total = np.zeros((len(by), len(CAUSES) + 1), dtype=np.int64)
        np.add.at(total, (group, self._cause), self._length)
        for members, row in zip(by, total.tolist(), strict=True):
            for cause, ns in [*zip(CAUSES, row[1:], strict=True), (None, row[0])] if members else ():
                if ns > 0:
                    yield members, cause, ns

    def _inside(self, one: IntervalSet) -> npt.NDArray[np.int8]:
        """1 for each piece that lies in a set, else 0."""
        # Millions of pieces: a byte for each where a byte will do.
        marks = np.zeros(len(self._edges), dtype=np.int8)
        marks[np.searchsorted(self._edges, one.start_ns)] = 1
        marks[np.searchsorted(self._edges, one.end_ns)] = -1
        return np.cumsum(marks, dtype=np.int8)[:-1]
