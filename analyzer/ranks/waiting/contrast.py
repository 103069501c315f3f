"""What differs most between the slowest rank and the fastest, and what kernels lose beside collectives."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.slowed import Contention, Contrast
from analyzer.ranks.summary import RankSummary

_LISTED = 5
_FEWEST = 3


def contrast(table: Table) -> Contrast | None:
    """The rank that works longest beside the one that works least; None with fewer than two."""
    if len(table.summaries) < 2:
        return None
    work = [_work(one) for one in table.summaries]
    slow, fast = table.summaries[int(np.argmax(work))], table.summaries[int(np.argmin(work))]
    if slow.rank is None or fast.rank is None or slow is fast:
        return None
    causes = {
        cause: _mean(slow, cause) - _mean(fast, cause)
        for cause in _causes(slow) | _causes(fast)
        if cause != "communication"
    }
    mine, theirs = _by_name(slow), _by_name(fast)
    # Whole: whoever takes secrets out of the document does not recognise half of one.
    kernels = {name: mine.get(name, 0) - theirs.get(name, 0) for name in {*mine, *theirs}}
    return Contrast(slowest=slow.rank, fastest=fast.rank, causes=_largest(causes), kernels=_largest(kernels))


def _largest(parts: dict[str, int]) -> dict[str, int]:
    ordered = sorted(parts.items(), key=lambda item: (-abs(item[1]), item[0]))
    return {name: ns for name, ns in ordered[:_LISTED] if ns}


def _causes(summary: RankSummary) -> set[str]:
    return {cause for step in summary.steps for cause in step.causes}


def _mean(summary: RankSummary, cause: str) -> int:
    return int(sum(step.causes.get(cause, 0) for step in summary.steps) / max(len(summary.steps), 1))


def _work(summary: RankSummary) -> float:
    own = sum(ns for step in summary.steps for cause, ns in step.causes.items() if cause != "communication")
    return own / max(len(summary.steps), 1)


def _by_name(summary: RankSummary) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in summary.kernels:
        found[row.name] = found.get(row.name, 0) + row.dur_ns // max(len(summary.steps), 1)
    return found


def contention(table: Table) -> Contention | None:
    """The rank whose kernels lose most beside collectives: what they take longer than the same kernel and shape alone."""
    found = [(_lost(one), one) for one in table.summaries]
    (lost, alone), summary = max(found, key=lambda item: item[0][0], default=((0.0, 0.0), None))
    if summary is None or summary.rank is None or lost <= 0:
        return None
    steps = max(len(summary.steps), 1)
    return Contention(rank=summary.rank, ns_per_step=int(lost / steps), slower_ratio=lost / alone if alone else 0.0)


def _lost(summary: RankSummary) -> tuple[float, float]:
    """Time lost beside collectives, and what the same kernels would take alone."""
    lost = usual = 0.0
    for row in summary.kernels:
        alone = row.count - row.beside_count
        if row.shape and alone >= _FEWEST and row.beside_count >= _FEWEST:
            each = (row.dur_ns - row.beside_ns) / alone
            lost += row.beside_ns - each * row.beside_count
            usual += each * row.beside_count
    return lost, usual
