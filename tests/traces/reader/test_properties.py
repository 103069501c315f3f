"""Whatever the bytes are: a trace, or an error in words; never a traceback, never a hang (hypothesis)."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trace_files import SHARED_FILES, dtype_here, frames, lines, needs_shared, read_text, repaired, sound

from traces.errors import AdvisorError, UnreadableTraceError
from traces.reader.input import source
from traces.rewrite.mended import write_mended
from traces.schema import SCHEMA
from traces.trace import Trace

TEXT = lines(sound()).encode()
EXAMPLES = settings(max_examples=60, deadline=20_000, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 1500)


def sane(trace: Trace) -> None:
    """What holds of every trace that was read, however damaged it was."""
    for name, frame in frames(trace).items():
        assert {c: str(d) for c, d in frame.dtypes.items()} == {
            c: dtype_here(s.dtype) for c, s in SCHEMA[name].items()
        }, name
        if "end_ns" in frame and len(frame):
            assert frame["dur_ns"].min() >= 0, name
            assert (frame["end_ns"] - frame["start_ns"]).equals(frame["dur_ns"]), name
            assert frame["dur_ns"].max() <= 86_400 * 10**9, name
    for repair in trace.repairs:
        assert repair.count > 0
    json.dumps(trace.meta.top, allow_nan=False)


def attempt(folder: Path, content: bytes) -> Trace | None:
    try:
        trace = read_text(folder, content)
    except UnreadableTraceError:
        return None
    sane(trace)
    return trace


def mutate(content: bytes, seed: int) -> bytes:
    """Bytes flipped, cut, doubled, moved or replaced by what breaks JSON."""
    dice = random.Random(seed)
    data = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        length = dice.choice([1, 1, 2, 10, 100, 1000])
        piece = bytes(data[at : at + length])
        kind = dice.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([dice.randrange(256)])
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = piece
        elif kind == 3:
            to = dice.randrange(len(data) + 1)
            data[to:to] = piece
        elif kind == 4:
            data[at:at] = dice.choice(
                [b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\0", b"null", b"NaN", b"\xff", b":"]
            )
        else:
            data = data[: max(at, 50)]
    return bytes(data)


@EXAMPLES
@given(st.binary(max_size=300))
@example(b"[")
@example(b'{"traceEvents":[{')
@example(b'{"traceEvents":[]')
@example(b"\xff\xfe")
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\xff\0\0\0\0\0\0")
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    attempt(tmp_path, content)


@pytest.mark.slow
@EXAMPLES
@given(st.text(alphabet='[]{},:"\\ \n0e.-NnXph', max_size=200))
def test_any_text_in_the_list_of_events(tmp_path: Path, text: str) -> None:
    middle = TEXT.index(b"},\n{", len(TEXT) // 2) + 2
    attempt(tmp_path, TEXT[:middle] + text.encode() + TEXT[middle:])


@pytest.mark.slow
@settings(EXAMPLES, max_examples=150)
@given(st.integers(0, 2**32))
def test_a_damaged_trace(tmp_path: Path, seed: int) -> None:
    attempt(tmp_path, mutate(TEXT, seed))


@settings(EXAMPLES, max_examples=30)
@given(st.integers(0, 2**32))
def test_a_damaged_gzip(tmp_path: Path, seed: int) -> None:
    attempt(tmp_path, mutate(gzip.compress(TEXT), seed))


@pytest.mark.slow
@needs_shared
@settings(EXAMPLES, max_examples=25)
@given(st.integers(0, 2**32))
def test_a_damaged_recorded_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    small = [path for path in SHARED_FILES if path.stat().st_size < 40_000]
    path = small[seed % len(small)]
    monkeypatch.setattr(source, "BLOCK_BYTES", 100_000)
    attempt(tmp_path, mutate(gzip.decompress(path.read_bytes()), seed))


@settings(EXAMPLES, max_examples=40)
@given(st.integers(0, 2**32))
def test_what_was_repaired_needs_no_repair_of_its_text(tmp_path: Path, seed: int) -> None:
    (tmp_path / "in.json").write_bytes(mutate(TEXT, seed))
    try:
        write_mended(tmp_path / "in.json", tmp_path / "out.json")
    except AdvisorError:
        return
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert all(isinstance(event, dict) for event in written["traceEvents"])


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["1.5", "x", "", None, [], {}, True]),
    st.integers(0, 1000),
)
WORDS = st.one_of(st.none(), st.text(max_size=8), st.integers(), st.sampled_from(["ProfilerStep#3", "[memory]"]))
ARGS = st.dictionaries(
    st.sampled_from(["correlation", "stream", "device", "External id", "Bytes", "Input Dims", "Call stack", "name"]),
    NUMBERS,
    max_size=4,
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(["X", "B", "E", "i", "M", "s", None, 3]),
        "cat": st.sampled_from(
            ["cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "python_function", "Operator", "odd", None]
        ),
        "name": WORDS,
        "pid": NUMBERS,
        "tid": NUMBERS,
        "ts": NUMBERS,
        "dur": NUMBERS,
        "args": st.one_of(ARGS, st.none(), st.just(5)),
    },
)


@settings(EXAMPLES, max_examples=150)
@given(st.lists(st.one_of(EVENTS, st.sampled_from([None, "x", 3, []])), max_size=25))
def test_events_of_any_values(tmp_path: Path, events: list[Any]) -> None:
    attempt(tmp_path, json.dumps({"traceEvents": events}).encode())


@settings(EXAMPLES, max_examples=40)
@given(st.floats(3e5, 1e18), st.integers(0, 14), st.sampled_from(["dur", "ts"]))
def test_one_absurd_kernel_never_reaches_a_sum(tmp_path: Path, value: float, place: int, key: str) -> None:
    builder = sound()
    for event in builder.events:
        event["ts"] += 1_700_000_000_000_000
    kernels = [event for event in builder.events if event["cat"] == "kernel"]
    kernels[place][key] = value if key == "dur" else value / 1e7
    trace = read_text(tmp_path, json.dumps(builder.document()))
    busy = int(trace.kernels["dur_ns"].sum())
    assert busy <= 15 * 800_000 or (key == "dur" and value < 2e6)
    assert len(trace.quarantined) == 15 - len(trace.kernels)
    assert set(repaired(trace)) <= {"absurd-duration", "absurd-start"}
