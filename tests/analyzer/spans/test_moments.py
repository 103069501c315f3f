"""How many moments lie in spans."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans.moments import moments_in


@given(st.lists(st.integers(0, 9), max_size=6), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4))
def test_moments_are_counted_where_they_lie(moments: list[int], spans: list[tuple[int, int]]) -> None:
    start = np.array([min(span) for span in spans], dtype=np.int64)
    end = np.array([max(span) for span in spans], dtype=np.int64)
    found = moments_in(np.array(moments, dtype=np.int64), start, end)
    assert found.tolist() == [sum(min(span) <= at < max(span) for at in moments) for span in spans]
