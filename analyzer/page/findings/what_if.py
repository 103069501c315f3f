"""What a choice of fixes gives: the one sum behind `--assume`, the boxes of the HTML page and the ticks of the terminal UI.

`page.js` does the same sum in a browser, where nothing else runs; a test holds the two to the same nanoseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from analyzer.analysis import Analysis, Assumed, CauseTime, ShorterTime, Together, WhatIf
from analyzer.page.step.cut import cut


@dataclass(frozen=True)
class _Left:
    """Nanoseconds over all used steps that are left of each cause, and of all together."""

    causes: dict[str, float]
    window_ns: int


def assumed(analysis: Analysis, ids: Collection[str]) -> Assumed:
    """The mean step with these findings fixed, the rest staying as it is. Time that two of them claim goes once."""
    summary, model = analysis.summary, analysis.what_if
    findings = [one for one in analysis.findings if one.id in ids]
    places = frozenset(place for place, one in enumerate(model.ids) if one in ids) if model is not None else frozenset()
    stated = _left(analysis, model.stated, places) if model is not None else _whole(analysis)
    likely = _left(analysis, model.likely, places) if model is not None and model.likely is not None else stated
    steps = max(summary.used_steps, 1)
    return Assumed(
        ids=tuple(one.id for one in findings),
        rules=tuple(dict.fromkeys(one.rule for one in findings)),
        kind="estimate" if model is not None and any(model.kinds[place] == "estimate" for place in places) else "bound",
        step_ns=stated.window_ns // steps,
        likely_step_ns=likely.window_ns // steps,
        saved_ratio=1 - stated.window_ns / summary.window_ns if summary.window_ns else 0.0,
        window_ns=stated.window_ns,
        waterfall=_waterfall(analysis, stated),
        without_place=tuple(one.id for one in findings if model is None or one.id not in model.ids),
    )


def without(analysis: Analysis, ids: Collection[str]) -> Analysis:
    """The document as it would be drawn with these findings fixed: bar, mean step and lanes. Steps and findings stay."""
    if not ids:
        return analysis
    left = assumed(analysis, ids)
    summary = msgspec.structs.replace(
        analysis.summary,
        step_ns=msgspec.structs.replace(analysis.summary.step_ns, mean=left.step_ns),
        window_ns=left.window_ns,
        waterfall=left.waterfall,
    )
    findings = [one for one in analysis.findings if one.id in ids]
    return msgspec.structs.replace(
        analysis, summary=summary, timeline=cut(analysis.timeline, findings), assumed=left if left.ids else None
    )


def matching(analysis: Analysis, rules: Iterable[str]) -> tuple[str, ...]:
    """The ids of the findings of these rules."""
    wanted = set(rules)
    return tuple(one.id for one in analysis.findings if one.rule in wanted)


def choices(analysis: Analysis) -> tuple[str, ...]:
    """The ids that can be chosen from: cards with a saving inside the step, best first."""
    model: WhatIf | None = analysis.what_if
    if model is None or analysis.trust.verdict == "unusable":
        return ()
    return tuple(one.id for one in analysis.cards if one.id in model.ids)


def _whole(analysis: Analysis) -> _Left:
    summary = analysis.summary
    return _Left({part.cause: float(part.ns) for part in summary.waterfall}, summary.window_ns)


def _left(analysis: Analysis, model: Together, chosen: frozenset[int]) -> _Left:
    """What is left: claimed time goes whole, then kernels get shorter by no more than is left of what can shrink."""
    whole = _whole(analysis)
    causes, claimed = dict(whole.causes), 0
    for piece in model.claims:
        if not chosen.isdisjoint(piece.by):
            claimed += piece.ns
            if piece.cause is not None:
                causes[piece.cause] -= piece.ns
    wanted, weights = _shortened(model, chosen)
    room = sum(causes[cause] for cause in model.shrinking if cause in causes)
    shorter = min(round(wanted), max(int(room), 0))
    saved = min(claimed + shorter, whole.window_ns)
    _take(causes, weights, model.shrinking, shorter)
    return _Left(causes, whole.window_ns - saved)


def _shortened(model: Together, chosen: frozenset[int]) -> tuple[float, dict[str, float]]:
    """By how much the chosen fixes shorten kernels, in all and by cause."""
    total = 0.0
    by_cause: dict[str, float] = {cause: 0.0 for cause in model.shrinking}
    for one in model.unplaced:
        total += one.ns if one.by in chosen else 0.0
    for piece in model.shorter:
        gone = piece.ns * _ratio(piece, chosen)
        total += gone
        if piece.cause is not None:
            by_cause[piece.cause] = by_cause.get(piece.cause, 0.0) + gone
    return total, by_cause


def _ratio(piece: ShorterTime, chosen: frozenset[int]) -> float:
    """Of one way the most, of several ways each takes its share of what the others leave."""
    ways: dict[int, float] = {}
    for part in piece.parts:
        if part.by in chosen:
            ways[part.way] = max(ways.get(part.way, 0.0), part.ratio)
    left = 1.0
    for ratio in ways.values():
        left *= 1 - ratio
    return 1 - left


def _take(causes: dict[str, float], weights: dict[str, float], shrinking: Iterable[str], wanted: float) -> None:
    """Takes from the causes where the kernels lie, then from what can shrink, in order, until all is taken."""
    for cause, weight in weights.items():
        taken = min(weight, causes.get(cause, 0.0), wanted)
        if taken > 0:
            causes[cause] -= taken
            wanted -= taken
    for cause in shrinking:
        taken = min(causes.get(cause, 0.0), wanted)
        if taken > 0:
            causes[cause] -= taken
            wanted -= taken


def _waterfall(analysis: Analysis, left: _Left) -> tuple[CauseTime, ...]:
    whole = left.window_ns
    return tuple(
        CauseTime(
            cause=part.cause,
            ns=max(round(left.causes[part.cause]), 0),
            ratio=max(left.causes[part.cause], 0.0) / whole if whole else 0.0,
        )
        for part in analysis.summary.waterfall
    )
