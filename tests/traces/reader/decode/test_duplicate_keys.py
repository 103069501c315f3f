"""Keys are counted all at once as they are one after another."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from traces.reader.decode.duplicate_keys import _KEYS, _named

PIECES = st.sampled_from([*(f'"{key}":' for key in _KEYS), '"', ":", "cat", "ph", "d", "{", '"args":', '"xts":', " "])


@given(st.lists(PIECES))
@example([])
@example(['"":'])
def test_keys_are_counted_at_once_as_one_by_one(pieces: list[str]) -> None:
    array = ("[" + "".join(pieces)).encode()
    assert _named(array) == {key: array.count(f'"{key}":'.encode()) for key in _KEYS}
