"""Worlds are written as the standard library writes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building.json_text import json_text

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(width=32) | st.text()
_DOCUMENTS = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)


@pytest.mark.slow
@given(_DOCUMENTS)
def test_it_means_the_same(document: object) -> None:
    written = json_text(document)
    # NaN is unequal to itself: what both mean is compared as it is written.
    assert json.dumps(json.loads(written)) == json.dumps(document)


def test_it_is_the_same_text_where_no_float_has_an_exponent() -> None:
    event = {
        "ph": "X",
        "name": 'a "b"\n',
        "ts": 1234567.891,
        "dur": 0,
        "args": {"dims": [[1, 2], []], "x": True, "y": {}},
    }
    for odd in (1, 2**70, float("nan"), None, "\ud800", "größer"):
        document = {"traceEvents": [event, odd], "ok": -1.5}
        assert json_text(document) == json.dumps(document)
