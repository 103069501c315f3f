"""The claims of all findings as a document from which any choice of them can be summed, exactly as `totals.saved_ns` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from analyzer import analysis as doc
from analyzer.cause_names import CAUSES
from analyzer.engine import Judged
from analyzer.engine.totals import expected, shorter_parts
from analyzer.facts import Facts
from analyzer.finding import Shortened
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet


def what_if(facts: Facts, judged: Sequence[Judged]) -> doc.WhatIf:
    """What each choice of the findings takes from the used steps; those without a saving inside them are left out."""
    chosen = [item for item in judged if item.finding.saving.total_ns > 0]
    stated, likely = _together(facts, chosen, usual=False), _together(facts, chosen, usual=True)
    return doc.WhatIf(
        ids=tuple(item.identity for item in chosen),
        kinds=tuple(item.finding.saving.kind.value for item in chosen),
        stated=stated,
        likely=likely if likely != stated else None,
    )


def _together(facts: Facts, chosen: Sequence[Judged], *, usual: bool) -> doc.Together:
    claims: list[IntervalSet] = []
    parts: list[tuple[int, Shortened]] = []
    unplaced: list[doc.UnplacedTime] = []
    for place, item in enumerate(chosen):
        saving = item.finding.saving
        claims.append(saving.likely_claims if expected(saving, usual=usual) else saving.claims)
        mine, unknown = shorter_parts(saving, usual=usual)
        parts += [(place, one) for one in mine]
        unplaced += [doc.UnplacedTime(by=place, ns=unknown)] if unknown > 0 else []
    on_host = facts.device.main is None
    return doc.Together(
        claims=tuple(
            doc.ClaimedTime(by=by, cause=cast("Any", cause), ns=ns) for by, cause, ns in _pieces(facts, claims)
        ),
        shorter=tuple(_shorter(facts, parts)),
        unplaced=tuple(unplaced),
        shrinking=tuple(cast("Any", cause) for cause in (CAUSES if on_host else ("compute",))),
    )


def _shorter(facts: Facts, parts: Sequence[tuple[int, Shortened]]) -> Iterator[doc.ShorterTime]:
    ways = {name: number for number, name in enumerate(dict.fromkeys(one.way for _, one in parts if one.way))}
    told = [
        doc.Shortening(by=place, way=ways.get(one.way, len(ways) + number), ratio=min(one.ratio, 1.0))
        for number, (place, one) in enumerate(parts)
    ]
    for by, cause, ns in _pieces(facts, [one.spans for _, one in parts]):
        yield doc.ShorterTime(parts=tuple(told[number] for number in by), cause=cast("Any", cause), ns=ns)


def _pieces(facts: Facts, sets: Sequence[IntervalSet]) -> Iterator[tuple[tuple[int, ...], str | None, int]]:
    """Which sets cover the same time, of which cause it is, and how much there is of it, nanoseconds."""
    filled = [one for one in sets if one]
    if not filled:
        return
    edges = np.unique(np.concatenate([edge for one in filled for edge in (one.start_ns, one.end_ns)]))
    start, end = edges[:-1], edges[1:]
    covers = np.stack([one.contains(start) for one in sets])
    some = covers.any(axis=0)
    start, end, covers = start[some], end[some], covers[:, some]
    groups, group = np.unique(covers, axis=1, return_inverse=True)
    owned = [(cause, facts.time.waterfall.owned(cause).overlap_with(start, end)) for cause in CAUSES]
    left = end - start - sum(ns for _, ns in owned)
    for number in range(groups.shape[1]):
        mine = group.reshape(-1) == number
        by = tuple(np.flatnonzero(groups[:, number]).tolist())
        for cause, ns in [*owned, (None, left)]:
            total = _sum(ns, mine)
            if total > 0:
                yield by, cause, total


def _sum(ns: Int64Array, mine: BoolArray) -> int:
    return int(ns[mine].sum())
