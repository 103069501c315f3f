"""A file decoded in parts: the same columns as in one piece, or no answer at all."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traces.progress import silent
from traces.reader.decode.document import Decoded, decode
from traces.reader.input.digest import digest
from traces.reader.parallel import cuts
from traces.reader.parallel.cuts import Part, parts_of
from traces.reader.parallel.parts import decode_part, joined
from traces.reader.read import read
from traces.trace import Trace

ROOT = Path(__file__).parents[4]
SAMPLES = sorted((ROOT / "traces" / "samples").rglob("*.json.gz"))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of tests are small."""
    monkeypatch.setattr(cuts, "_LEAST_BYTES", 1)


def _in_parts(path: Path, count: int) -> Decoded | None:
    """As the processes of `traces.reader.parallel.ahead` do it, one after another."""
    documents = [decode_part(part, silent) for part in parts_of(path, count)]
    sound = [document for document in documents if document is not None]
    return joined(path, digest(path), sound, strict=False) if len(sound) == len(documents) else None


def _read(path: Path, decoded: Decoded) -> Trace:
    return read(path, decoder=lambda *_: decoded)


def _frames(trace: Trace) -> dict[str, str]:
    return {name: getattr(trace, name).to_csv() for name in ("ops", "kernels", "copies", "runtime", "steps", "threads")}


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem.removesuffix(".json"))
def test_parts_become_what_the_whole_is(sample: Path, count: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.decompress(sample.read_bytes()))
    assert len(parts_of(path, count)) == count
    decoded = _in_parts(path, count)
    assert decoded is not None
    whole, parted = _read(path, decode(path, silent, False, False)), _read(path, decoded)
    assert parted.meta == whole.meta
    assert parted.capabilities == whole.capabilities
    assert parted.repairs == whole.repairs
    assert _frames(parted) == _frames(whole)
    assert parted.meta.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def _trace(**keys: Any) -> dict[str, Any]:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "args": {}}
        for i in range(60)
    ]
    return {"schemaVersion": 1, "traceEvents": events, **keys}


@pytest.mark.parametrize("mended", [(7, 31, 52), (31, 52), (52,)])
def test_what_is_mended_in_columns_is_told_by_its_place_in_the_whole(tmp_path: Path, mended: tuple[int, ...]) -> None:
    trace = _trace()
    for index in mended:
        trace["traceEvents"][index]["dur"] = 1e15
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    decoded = _in_parts(path, 3)
    assert decoded is not None
    repairs = _read(path, decoded).repairs
    assert repairs == read(path).repairs
    assert [(one.kind, one.count, one.first_event) for one in repairs] == [("absurd-duration", len(mended), mended[0])]


def _cut_in_other_list(text: str) -> str:
    rows = [{"name": f"row{i}", "value": i} for i in range(400)]
    return text[:-1] + ', "other": ' + json.dumps(rows) + "}"


def _cut_in_arguments(text: str) -> str:
    rows = [{"name": f"row{i}"} for i in range(2000)]
    return text.replace('"args": {}', '"args": {"rows": ' + json.dumps(rows) + "}", 1)


def _halves(text: str) -> str:
    return text.replace('"ph": "X"', '"ph": "B"', 1).replace(
        '"ph": "X", "cat": "cpu_op", "name": "aten::op59"', '"ph": "E"'
    )


def _damaged(text: str) -> str:
    return text.replace('"ts": 550,', '"ts": NaN,')


def _cut_off(text: str) -> str:
    return text[:-40]


def _followed(text: str) -> str:
    return text + text


@pytest.mark.parametrize("change", [_cut_in_other_list, _cut_in_arguments, _halves, _damaged, _cut_off, _followed])
def test_what_is_cut_elsewhere_or_wants_a_repair_is_left_to_one_process(
    change: Callable[[str], str], tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(change(json.dumps(_trace())))
    assert len(parts_of(path, 2)) == 2
    assert _in_parts(path, 2) is None


def test_a_text_is_not_cut(tmp_path: Path) -> None:
    trace = _trace()
    trace["traceEvents"][3]["name"] = '}, {"name": ' * 1000
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    decoded = _in_parts(path, 2)
    assert decoded is not None
    assert decoded.documents[0].columns.events == len(trace["traceEvents"])


def test_keys_on_either_side_of_the_events_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(_trace(deviceProperties=[], last={"a": [1, 2]})))
    decoded = _in_parts(path, 2)
    assert decoded is not None
    assert decoded.documents[0].top == {"schemaVersion": 1, "deviceProperties": [], "last": {"a": [1, 2]}}


@pytest.mark.parametrize("text", ["[]", '[{"ph": "X"}, {"ph": "X"}]', "\ufeff{}", "", "<html>"])
def test_only_an_object_is_cut(text: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="utf-8")
    assert parts_of(path, 2) == (Part(path, 0, None),)


def test_a_small_file_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(_trace()))
    assert len(parts_of(path, 2)) == 1
