"""Of a run of kernels that may become one, the shortest is found."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.facts.kernels.fusion import _shortest


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=14))
def test_it_is_the_first_of_equally_short_ones_and_none_of_a_run_of_one(kernels: list[tuple[bool, int]]) -> None:
    joined, dur_ns = [one for one, _ in kernels[1:]], [dur for _, dur in kernels]
    runs: list[list[int]] = []
    for at in range(len(kernels)):
        if at and joined[at - 1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    wanted = [min(run, key=lambda at: dur_ns[at]) for run in runs if len(run) > 1]
    found = _shortest(np.array(joined, dtype=bool), np.array(dur_ns, dtype=np.int64))
    assert found.tolist() == wanted
