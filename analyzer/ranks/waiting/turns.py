"""Steps in which another rank is late each time: pauses that go round, sequences of all lengths, experts that get more by turns."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.summary import StepPart
from analyzer.ranks.waiting.amounts import between, more_ns
from analyzer.ranks.waiting.causes import EXPLAINED_RATIO, cause_words
from analyzer.ranks.waiting.peers import Peers

# What one rank does beyond its peers in every step is less than this part of what some rank does in each.
_OWN_RATIO = 0.5
# As many standard errors as `late.py` asks of what a rank does in each step.
_SURE = 2.0
_MORE_WORK = "more work"


def by_turns(peers: Peers) -> bool:
    """Whether in each step another rank does more than its peers, and none does in all of them."""
    known = ~np.isnan(peers.excess_ns)
    if not known.any():
        return False
    excess = np.where(known, peers.excess_ns, 0.0)
    latest = np.maximum(excess.max(axis=0), 0.0)
    always = excess.mean(axis=1)
    limit = _OWN_RATIO * float(latest.mean())
    if float(always.max()) < limit:
        return True
    steps = excess.shape[1]
    if steps < 2:
        return False
    # Of few steps chance gives some rank more than its share: that is not sure to be its own.
    sure = always - _SURE * excess.std(axis=1, ddof=1) / math.sqrt(steps)
    of_one = np.bincount(excess.argmax(axis=0), weights=latest, minlength=len(excess))
    return bool(float(sure.max()) < limit and float(of_one.max()) < _OWN_RATIO * float(latest.sum()))


def why_by_turns(table: Table, peers: Peers) -> str:
    """What the latest rank of each step does longer than its peers, in words; empty where no cause explains most of it."""
    beyond: Counter[str] = Counter()
    whole = more = 0.0
    amounts: list[float] = []
    for place, number in enumerate(peers.steps):
        excess = np.nan_to_num(peers.excess_ns[:, place], nan=0.0)
        late = int(excess.argmax())
        mine, others = step_beside_peers(table, peers, late, number)
        if mine is None or not others or excess[late] <= 0:
            continue
        whole += float(excess[late])
        ns, times = more_ns(mine, others)
        more += ns
        amounts += [times] if ns else []
        for cause, ns in mine.causes.items():
            beyond[cause] += int(ns - float(np.median([one.causes.get(cause, 0) for one in others])))
    if more >= EXPLAINED_RATIO * whole > 0:
        return f"{_MORE_WORK} ({between(amounts)} times as much to compute as the others have in it)"
    return next(
        (
            cause_words(cause)
            for cause, ns in beyond.most_common()
            if cause_words(cause) and ns >= EXPLAINED_RATIO * whole
        ),
        "",
    )


def of_work(why: str) -> bool:
    """Whether more work makes ranks late by turns: somebody has to do it, so that less than sharing it evenly cannot be had."""
    return why.startswith(_MORE_WORK)


def step_beside_peers(table: Table, peers: Peers, late: int, number: int) -> tuple[StepPart | None, list[StepPart]]:
    """A rank's step of a number, and those of its peers; None where it has none.

    Args:
        table: The ranks.
        peers: Each rank beside its peers.
        late: Place of the rank.
        number: Of the step.
    """
    found: dict[int, StepPart] = {
        member: step
        for member, one in enumerate(table.summaries)
        if peers.label[member] == peers.label[late]
        for step in one.steps
        if step.number == number
    }
    return found.pop(late, None), list(found.values())
