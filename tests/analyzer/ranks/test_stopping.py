"""Which collectives hold a rank back, and which it has begun beside them."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.waiting.stopping import Stopping, stopping


def turns(found: Stopping) -> list[str]:
    """`a0` for coming to the first stop, `l0` for leaving it."""
    return [
        f"{'l' if leaves else 'a'}{stop}"
        for stop, leaves in zip(found.turns.tolist(), found.leaves.tolist(), strict=True)
    ]


def found(start: list[int], dur: list[int], own: list[float], exposed: list[float], member: list[int]) -> Stopping:
    as_ints = (np.array(values, dtype=np.int64) for values in (member, start, dur))
    return stopping(*as_ints, np.array(own, dtype=float), np.array(exposed, dtype=float))


def test_one_behind_the_other() -> None:
    one = found([100, 200], [50, 50], [100, 50], [50, 50], [0, 0])
    assert turns(one) == ["a0", "l0", "a1", "l1"]
    assert not one.besides_ns.any()


def test_what_begins_while_the_rank_waits_is_not_held_back() -> None:
    # A message of 400 waits for its sender; a second one begins with it on another stream, a third when both are over.
    one = found([100, 110, 600], [400, 50, 50], [100, 0, 100], [400, 0, 50], [0, 0, 0])
    assert turns(one) == ["a0", "a1", "l0", "l1", "a2", "l2"]
    # Ten of the first lie in front of the second, whoever comes when.
    assert one.besides_ns.tolist() == [0, 10, 0]
    assert one.hidden_ns.tolist() == [10, 0, 0]


def test_what_begins_as_the_first_ends_waited_for_it() -> None:
    # The clocks of two streams overlap by one: nearly all of the first lies in front of the second.
    assert turns(found([100, 499], [400, 50], [100, 0], [400, 50], [0, 0])) == ["a0", "l0", "a1", "l1"]


def test_work_beside_a_hidden_one_holds_nothing_back() -> None:
    one = found([100, 200], [400, 50], [100, 100], [0, 0], [0, 0])
    assert turns(one) == ["a0", "l0", "a1", "l1"]


def test_ranks_stand_one_behind_the_other_on_no_clock() -> None:
    day = 86_400 * 10**9
    one = found([100, 110, 100 + day, 110 + day], [400, 50, 400, 50], [100, 0, 100, 0], [400, 0, 400, 0], [0, 0, 1, 1])
    assert turns(one) == ["a0", "a1", "l0", "l1", "a2", "a3", "l2", "l3"]


def test_nothing_is_nothing() -> None:
    assert turns(found([], [], [], [], [])) == []
