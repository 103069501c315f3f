"""What a file says of its rank is believed where it is a number."""

from __future__ import annotations

from typing import Any

import pytest

from building.builders import TraceBuilder


@pytest.mark.parametrize(
    ("stated", "found"),
    [(0, 0), (3, 3), (-1, -1), (True, None), (False, None), ("1", None), (1.0, None), (None, None), ([1], None)],
)
def test_ranks_are_numbers(stated: Any, found: int | None) -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.top["distributedInfo"] = {"rank": stated, "world_size": stated}
    meta = builder.trace().meta
    assert (meta.rank, meta.world_size) == (found, found)


@pytest.mark.parametrize("info", [None, [], "rank 1", {}])
def test_a_trace_that_says_nothing_of_it_states_none(info: Any) -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.top["distributedInfo"] = info
    meta = builder.trace().meta
    assert (meta.rank, meta.world_size) == (None, None)
