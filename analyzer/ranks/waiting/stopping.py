"""Where in its own work a rank stops for each collective: at once, or behind others that it began meanwhile.

A rank that waits in a message and has begun another one on a second stream does not hold that one back. Its recording tells: what
nothing hides of the first lies behind the start of the second.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array

# From this part of what nothing hides on, what begins behind it began because it was over.
_OVER_RATIO = 0.5


class Stopping(msgspec.Struct, frozen=True):
    """In which order ranks come to collectives and stop for them.

    Args:
        turns: Stops in the order in which ranks come to them and leave them, each twice, shape (2 * stops,); sorted by rank.
        leaves: Whether a turn is that at which the rank leaves, shape (2 * stops,).
        besides_ns: In front of each stop, what its rank spends in others that go on behind it, shape (stops,).
        hidden_ns: What each stop's rank spends in it before the stops that it does not hold back, shape (stops,).
    """

    turns: Int64Array
    leaves: BoolArray
    besides_ns: FloatArray
    hidden_ns: FloatArray


def stopping(
    member: Int64Array, start_ns: Int64Array, dur_ns: Int64Array, own_ns: FloatArray, exposed_ns: FloatArray
) -> Stopping:
    """Finds for each stop the first one that its rank came to because it was over.

    Args:
        member: Rank of each stop, sorted, shape (stops,).
        start_ns: When it could begin, on the rank's own clock, ascending within a rank, shape (stops,).
        dur_ns: How long it is from there to its end, shape (stops,).
        own_ns: What the rank does between the start of the stop before and this one, shape (stops,).
        exposed_ns: What of `dur_ns` nothing hides, shape (stops,).
    """
    many = len(member)
    if not many:
        nothing = np.zeros(0)
        return Stopping(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), nothing, nothing)
    every = np.arange(many)
    first = np.searchsorted(member, member)
    # Time in collectives up to each start: what is no work of its own.
    between = np.maximum(np.append(0, np.diff(start_ns)) - own_ns, 0.0)
    between[first == every] = 0.0
    until = _over(member, start_ns, dur_ns, exposed_ns, between)
    besides, hidden = np.zeros(many), np.zeros(many)
    # Of the stops in front of each the one that goes on longest, where one does.
    longest = np.append(0, np.maximum.accumulate(until * (many + 1) + (many - every))[:-1])
    holder, open_until = many - longest % (many + 1), longest // (many + 1)
    beside = np.flatnonzero((open_until > every) & (every > first))
    released = np.bincount(until, weights=exposed_ns, minlength=many + 1)[:many]
    besides[beside] = np.maximum(between - released, 0.0)[beside]
    np.add.at(hidden, holder[beside], besides[beside])
    leaves = np.repeat([False, True], many)
    twice = np.concatenate([every, every])
    # A rank leaves what is over in front of what it comes to next; of several the earlier first.
    order = np.lexsort((twice, ~leaves, np.concatenate([every, until]), member[twice]))
    return Stopping(twice[order], leaves[order], besides, hidden)


def _over(
    member: Int64Array, start_ns: Int64Array, dur_ns: Int64Array, exposed_ns: FloatArray, between_ns: FloatArray
) -> Int64Array:
    """For each stop the place of the first one of its rank that came because it was over, or behind the rank's last; (stops,)."""
    first, behind = np.searchsorted(member, member), np.searchsorted(member, member, side="right")
    spent = np.cumsum(between_ns)
    spared = np.searchsorted(spent, spent + _OVER_RATIO * exposed_ns, side="left")
    # One axis for all ranks, each from its own first start on, one behind the other.
    since = start_ns - start_ns[first]
    axis = since + member * (int((since + dur_ns).max()) + 1)
    ended = np.searchsorted(axis, axis + dur_ns, side="left")
    found: Int64Array = np.clip(np.minimum(spared, ended), np.arange(len(member)) + 1, behind)
    return found
