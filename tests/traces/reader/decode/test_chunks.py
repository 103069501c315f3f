"""Where the text is cut into blocks changes nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pandas as pd
import pytest
from trace_files import SHARED, frames, lines, needs_shared, read_text, repaired, sound

from building.builders import TraceBuilder
from traces.reader.input import source
from traces.reader.read import read
from traces.trace import Trace


def same(left: Trace, right: Trace) -> None:
    for name, frame in frames(left).items():
        pd.testing.assert_frame_equal(frame, frames(right)[name], obj=name)
    assert left.meta == right.meta
    assert left.capabilities == right.capabilities
    assert left.repairs == right.repairs


def tricky() -> TraceBuilder:
    """Arguments and names that look like the places between events."""
    builder = sound(2)
    builder.op("a},{b", 1_000_010, 5, nested=[{"ph": "X"}, {"name": "no event"}, {"a": [{"b": 1}, {"c": 2}]}])
    builder.op('quote " and \\ and ],"x":{', 1_000_020, 5, more=[[{"ts": 1}, {"ts": 2}]], text='}]},{"ph":"X"')
    builder.op("[]{}", 1_000_030, 5)
    return builder


@pytest.mark.parametrize("size", [64, 97, 256, 1000, 4096])
@pytest.mark.parametrize("indent", [True, False])
def test_small_blocks_give_the_same_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, indent: bool
) -> None:
    text = lines(tricky(), indent=indent)
    whole = read_text(tmp_path, text)
    assert len(whole.ops) == 15
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    same(whole, read_text(tmp_path, text))


@pytest.mark.slow
def test_no_block_ends_where_an_event_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = lines(tricky(), indent=False)
    for size in range(64, 300):
        monkeypatch.setattr(source, "BLOCK_BYTES", size)
        read = read_text(tmp_path, text)
        assert (len(read.ops), read.repairs) == (15, ()), size


@pytest.mark.parametrize("size", [64, 1000])
def test_metadata_may_follow_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    builder = tricky()
    after = {"traceEvents": builder.events, **builder.top, "unknown": [{"a": 1}, {"b": [{"c": 2}, {"d": 3}]}]}
    before = {"baseTimeNanoseconds": 17, **after}
    whole = read_text(tmp_path, json.dumps(before))
    assert whole.meta.base_ns == 17
    assert whole.meta.devices == builder.top["deviceProperties"]
    assert whole.meta.top["unknown"] == after["unknown"]
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    same(whole, read_text(tmp_path, json.dumps(before)))


def test_metadata_alone_before_or_behind(tmp_path: Path) -> None:
    events = '"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"pid":1,"tid":1}]'
    for text in (
        '{"baseTimeNanoseconds":5,%s}',
        '{%s,"baseTimeNanoseconds":5}',
        '{ "baseTimeNanoseconds" : 5 , %s }\n\n',
    ):
        trace = read_text(tmp_path, text % events)
        assert trace.meta.base_ns == 5
        assert repaired(trace) == {}


def test_the_order_of_events_does_not_matter(tmp_path: Path) -> None:
    builder = tricky()
    first = read_text(tmp_path, lines(builder))
    random.Random(3).shuffle(builder.events)
    second = read_text(tmp_path, lines(builder))
    for name in ("ops", "kernels", "runtime", "steps", "annotations", "copies"):
        left, right = getattr(first, name), getattr(second, name)
        columns = [c for c in left.columns if c not in ("thread", "process")]
        pd.testing.assert_frame_equal(
            left[columns].astype(str).sort_values(columns, ignore_index=True),
            right[columns].astype(str).sort_values(columns, ignore_index=True),
        )


@needs_shared
@pytest.mark.parametrize(
    "name", ["hta_two_ranks_0", "hta_mi250_minitoy", "hta_alexnet_cuda_sync", "hta_triton_example"]
)
def test_a_recorded_trace_in_small_blocks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = SHARED / f"{name}.json.gz"
    whole = read(path)
    monkeypatch.setattr(source, "BLOCK_BYTES", 10_000)
    same(whole, read(path))


def test_progress_is_told_and_may_cancel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sound().write(tmp_path / "trace.json")
    monkeypatch.setattr(source, "BLOCK_BYTES", 1000)
    seen: list[tuple[str, int, int]] = []
    read(path, lambda *values: seen.append(values))
    size = path.stat().st_size
    assert seen[-1] == ("reading", size, size)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)

    def cancel(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(path, cancel)
