"""How much more than its peers a rank has to compute, by the shapes of its products: tokens, samples, sequences that are uneven."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from analyzer.ranks.summary import RankSummary, StepPart

# Padding and the last batch of an epoch make amounts differ by so much where work is even.
_MORE_RATIO = 1.05


def times_as_much(mine: Iterable[StepPart], others: Sequence[Iterable[StepPart]]) -> float | None:
    """What the products of some steps have to compute over what those of the peers have in the median; None where nobody knows."""
    own, theirs = _total(mine), [_total(one) for one in others]
    known = [one for one in theirs if one]
    return own / float(np.median(known)) if own and known and len(known) == len(theirs) else None


def more_ns(mine: StepPart, others: Sequence[StepPart]) -> tuple[float, float]:
    """How much of what a rank computes in a step is more work than its peers have, and how many times as much it has in all.

    Zero and one where nobody knows, or where it has no more.
    """
    times = times_as_much((mine,), [(one,) for one in others])
    if times is None or times < _MORE_RATIO:
        return 0.0, 1.0
    return mine.causes.get("compute", 0) * (1 - 1 / times), times


def amount_words(late: RankSummary, peers: Sequence[RankSummary]) -> str:
    """How many times as much a late rank has to compute as its peers, in words that go on; empty where that is no more."""
    times = times_as_much(late.steps, [one.steps for one in peers])
    return (
        f"; its products have {times:.2g} times as much to compute"
        if times is not None and times >= _MORE_RATIO
        else ""
    )


def between(times: Sequence[float]) -> str:
    """Some ratios in words, the least and the most; one where these read alike."""
    low, high = f"{min(times):.2g}", f"{max(times):.2g}"
    return low if low == high else f"{low} to {high}"


def _total(steps: Iterable[StepPart]) -> float | None:
    """Operations a step, in the mean; None where a step states none."""
    found = [one.product_flops for one in steps]
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known and len(known) == len(found) else None
