"""Matches that were guessed, held against the clocks: members of one collective leave it together.

Where nobody says who is in a group (kernels' names alone, torch before 2.2, lists of members that torch cuts short, groups that
`split_group` names alike), ranks may be in different groups that do the same in the same order. Their ends then part as soon as
one of the groups is held up, and nothing may be said of who waits for whom.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.alignment.clocks import Clocks, fit_clocks
from analyzer.ranks.alignment.matching import Matched, without
from analyzer.ranks.alignment.table import Table
from analyzer.spans.arrays import BoolArray

# Ends of a true group part by clocks and the last piece of a transfer, which is little beside the time in it. What is claimed
# rests on that time.
_PARTED_RATIO = 0.25
_ROUNDS = 2


def borne_out(table: Table, matched: Matched) -> tuple[Matched, Clocks]:
    """What is matched, without the guesses that the clocks contradict; and the clocks fitted to it.

    Args:
        table: The rows.
        matched: Which belong together, guesses among them.
    """
    clocks = fit_clocks(table, matched)
    for _ in range(_ROUNDS):
        wrong = _contradicted(table, matched, clocks)
        if not wrong.any():
            break
        matched = without(matched, wrong)
        clocks = fit_clocks(table, matched)
    return matched, clocks


def _contradicted(table: Table, matched: Matched, clocks: Clocks) -> BoolArray:
    """Which instances are of a guessed group whose members do not end together, shape (instances,)."""
    wrong = np.zeros(len(matched), dtype=bool)
    if not matched.guessed.any():
        return wrong
    rows = matched.rows
    end = clocks.start_ns[rows] + table.rows.dur_ns[rows]
    parted = np.maximum.reduceat(end, matched.first) - np.minimum.reduceat(end, matched.first)
    longest = np.maximum.reduceat(table.rows.dur_ns[rows], matched.first)
    lead = rows[matched.first]
    looked_at = matched.guessed & table.symmetric[table.rows.kind[lead]]
    group = table.rows.group[lead]
    apart = np.bincount(group[looked_at], weights=parted[looked_at], minlength=len(table.groups))
    inside = np.bincount(group[looked_at], weights=longest[looked_at], minlength=len(table.groups))
    bad = matched.guessed & (apart > _PARTED_RATIO * inside)[group]
    return np.asarray(bad, dtype=bool)


def lacking(table: Table, matched: Matched) -> BoolArray:
    """Which instances have members that are not here, or of which nobody says how many there are. Shape (instances,)."""
    if not len(matched):
        return np.zeros(0, dtype=bool)
    lead = matched.rows[matched.first]
    sizes = np.array([group.size or len(group.ranks) for group in table.groups] or [0], dtype=np.int64)
    expected = np.where(table.pairwise[table.rows.kind[lead]], 2, sizes[table.rows.group[lead]])
    world = max((one.world_size or 0 for one in table.summaries), default=0)
    # Of unknown groups none has members that are missing where every rank of the job is here.
    known = np.where(expected > 0, expected, 0 if world and len(table.summaries) >= world else len(table.summaries) + 1)
    return np.asarray(matched.size < known, dtype=bool)


class Judged(msgspec.Struct, frozen=True):
    """How much of the time in collectives can be held against other ranks, nanoseconds a step, a mean over the ranks.

    Args:
        exposed_ns: In collectives, where no compute hides it.
        unjudged_ns: Of that, in those of which nobody knows who waits for whom.
        lacking_ns: Of that, in those with members that are not here: it may be waiting for them.
    """

    exposed_ns: float
    unjudged_ns: float
    lacking_ns: float


def judged(table: Table, matched: Matched, waits: BoolArray) -> Judged:
    """How much can be judged.

    Args:
        table: The rows.
        matched: Which belong together.
        waits: Which instances one waits in, shape (instances,).
    """
    exposed = table.rows.exposed_ns.astype(np.float64)
    steps = sum(max(len(one.steps), 1) for one in table.summaries) or 1
    known = np.zeros(len(exposed), dtype=bool)
    short = np.zeros(len(exposed), dtype=bool)
    if len(matched):
        known[matched.rows] = waits[matched.instance]
        short[matched.rows] = (waits & lacking(table, matched))[matched.instance]
    return Judged(
        exposed_ns=float(exposed.sum()) / steps,
        unjudged_ns=float(exposed[~known].sum()) / steps,
        lacking_ns=float(exposed[short].sum()) / steps,
    )
