"""A gzip file of several members decoded by several processes: the same columns as in one piece, or no answer at all."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traces.errors import UnreadableTraceError
from traces.progress import silent
from traces.reader.decode.document import Decoded, decode
from traces.reader.input.digest import digest
from traces.reader.parallel import cuts, parts
from traces.reader.parallel.cuts import parts_of
from traces.reader.parallel.parts import decode_part, joined
from traces.reader.read import read
from traces.schema import SCHEMA

ROOT = Path(__file__).parents[4]
SAMPLES = sorted((ROOT / "traces" / "samples").rglob("*.json.gz"))
SHARED = sorted((ROOT.parent / "shared" / "traces").glob("*.json.gz"))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of tests are small."""
    monkeypatch.setattr(cuts, "_LEAST_PACKED_BYTES", 1)


def members(text: bytes, count: int, pack: Callable[[bytes], bytes] = gzip.compress) -> bytes:
    """A text as members of about equal length, cut wherever that is."""
    size = -(-len(text) // count)
    return b"".join(pack(text[at : at + size]) for at in range(0, len(text), size))


def in_parts(path: Path, count: int) -> Decoded | None:
    """As the processes of `traces.reader.parallel.ahead` do it, one after another."""
    found = [decode_part(part, silent) for part in parts_of(path, count)]
    sound = [part for part in found if part is not None]
    return joined(path, digest(path), sound, strict=False) if len(sound) == len(found) > 1 else None


def same(path: Path, decoded: Decoded) -> None:
    """A file decoded in parts is what it is in one piece."""
    whole, parted = read(path), read(path, decoder=lambda *_: decoded)
    for field in ("meta", "capabilities", "repairs", "notes", "unknown_categories", "whole_until_ns", "unfinished"):
        assert getattr(parted, field) == getattr(whole, field), field
    for name, columns in SCHEMA.items():
        one, other = getattr(parted, name), getattr(whole, name)
        for column in columns:
            if isinstance(one[column].dtype, pd.CategoricalDtype):
                # Texts are numbered part by part; pandas 2 cannot compare them where there are none.
                assert set(one[column].cat.categories) == set(other[column].cat.categories), column
                pd.testing.assert_series_equal(one[column].astype(object), other[column].astype(object))
            else:
                pd.testing.assert_series_equal(one[column], other[column])


def trace(events: int = 400, **keys: Any) -> bytes:
    drawn = random.Random(events)
    made = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::op{drawn.random()}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5}
        for i in range(events)
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": made, **keys}).encode()


# One file in every number of parts, the others in one number each: where a file is cut does not depend on what it is of.
CUT = [(SAMPLES[0], 2), (SAMPLES[0], 5), *zip([*SAMPLES, *SHARED[::3]], itertools.cycle((3, 2, 5)), strict=False)]


@pytest.mark.parametrize(("sample", "count"), CUT, ids=lambda one: one.stem if isinstance(one, Path) else str(one))
def test_parts_become_what_the_whole_is(
    sample: Path, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "SEARCHED_BYTES", 20_000)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(members(gzip.decompress(sample.read_bytes()), 3 * count))
    whole, decoded = decode(path, silent, False, False).documents[0], in_parts(path, count)
    if decoded is None:
        # Only what is no object, is mended or comes in halves is left to one process, and what is too small to be cut.
        small = whole.columns.events < 1000
        assert whole.bare_list or whole.repairs.listed() or whole.columns.halves or small
        return
    same(path, decoded)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem.removesuffix(".json"))
def test_samples_are_cut(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEARCHED_BYTES", 20_000)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(members(gzip.decompress(sample.read_bytes()), 4))
    assert len(parts_of(path, 2)) == 2
    assert in_parts(path, 2) is not None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.lists(st.integers(1, 40_000), min_size=1, max_size=6), count=st.integers(2, 4), mended=st.booleans())
def test_wherever_members_begin_nothing_is_lost_or_doubled(
    ends: list[int], count: int, mended: bool, tmp_path: Path
) -> None:
    text = trace()
    if mended:
        # Set aside in columns, which know its event, whose byte is looked for in the whole.
        text = text.replace(b'"ts": 3500, "dur": 5}', b'"ts": 3500, "dur": 1e15}')
    at = sorted({0, *(end for end in ends if end < len(text)), len(text)})
    path = tmp_path / "trace.json.gz"
    path.write_bytes(b"".join(gzip.compress(text[a:b]) for a, b in itertools.pairwise(at)))
    decoded = in_parts(path, count)
    if decoded is not None:
        same(path, decoded)


def test_places_count_from_the_beginning_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEARCHED_BYTES", 2_000)
    text = trace().replace(b'"ts": 3500, "dur": 5}', b'"ts": 3500, "dur": 1e15}')
    path = tmp_path / "trace.json.gz"
    path.write_bytes(members(text, 6))
    decoded = in_parts(path, 3)
    assert decoded is not None
    (repair,) = read(path, decoder=lambda *_: decoded).repairs
    assert repair.first_offset is not None
    assert text[repair.first_offset :].startswith(b'{"ph"')
    assert b'"dur": 1e15' in text[repair.first_offset : repair.first_offset + 150]


def _wrong_checksum(content: bytes) -> bytes:
    return content[:-6] + bytes([content[-6] ^ 1]) + content[-5:]


def _cut_off(content: bytes) -> bytes:
    return content[:-30]


def _damaged(content: bytes) -> bytes:
    middle = len(content) * 3 // 4
    return content[:middle] + bytes([content[middle] ^ 0x55]) + content[middle + 1 :]


def _something_behind(content: bytes) -> bytes:
    return content + b"what is this"


@pytest.mark.parametrize("change", [_wrong_checksum, _cut_off, _damaged, _something_behind])
def test_a_damaged_file_is_left_to_one_process(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(change(members(trace(), 4)))
    assert len(parts_of(path, 2)) == 2
    assert in_parts(path, 2) is None


def test_zeros_behind_the_last_member_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(members(trace(), 4) + bytes(700))
    decoded = in_parts(path, 2)
    assert decoded is not None
    same(path, decoded)


def test_what_only_looks_like_a_member_is_found_out(tmp_path: Path) -> None:
    # A whole member, stored inside another one as it is: all checksums are right.
    text = trace()
    inner = gzip.compress(b'}, {"ph": "X", "ts": 1}' * 50)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text + b" " * len(text) + inner, compresslevel=0))
    first, second = parts_of(path, 2)
    assert second.begin == path.read_bytes().rindex(inner)
    assert decode_part(first, silent) is None


def test_several_documents_are_left_to_one_process(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(trace(300)) + gzip.compress(trace(301)))
    assert len(parts_of(path, 2)) == 2
    assert in_parts(path, 2) is None


def test_one_member_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(trace(3000)))
    assert len(parts_of(path, 4)) == 1


def test_a_member_that_expands_as_no_trace_does_is_left_to_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(members(trace(), 2))

    def refuse(*_: object) -> None:
        raise UnreadableTraceError("a bomb")

    monkeypatch.setattr("traces.reader.limits.check_expansion", refuse)
    assert in_parts(path, 2) is None
