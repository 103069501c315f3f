"""Input made to do harm (odd-traces row 50): a clear error or a counted repair, in bounded time and memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trace_files import lines, read_text, repaired, sound

from running.counted_calls import calls_of
from traces.errors import UnreadableTraceError
from traces.reader import limits, memory_left
from traces.reader.input import source
from traces.reader.read import read

ROOT = Path(__file__).parents[3]
START = b'{"traceEvents":['
EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"x":%s}}'


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 256 << 10)
    monkeypatch.setattr(limits, "MAX_EVENT_BYTES", 1 << 20)
    monkeypatch.setattr(limits, "MAX_METADATA_BYTES", 1 << 20)


@pytest.mark.parametrize("text", [b"[", b'{"a":', b"[{", b'{"traceEvents":'])
@pytest.mark.parametrize("start", [b"", START, b"["])
def test_endless_nesting_is_refused(tmp_path: Path, start: bytes, text: bytes) -> None:
    began = time.process_time()
    with pytest.raises(UnreadableTraceError):
        read_text(tmp_path, start + text * (3_000_000 // len(text)))
    assert time.process_time() - began < 20


def test_an_endless_string_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="an event of more than"):
        read_text(tmp_path, START + b'{"name":"' + b"x" * 3_000_000)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_arguments_cost_their_event(tmp_path: Path, opening: bytes, closing: bytes) -> None:
    deep = opening * 50_000 + b"1" + closing * 50_000
    trace = read_text(tmp_path, START + EVENT % (1, b"2") + b"," + EVENT % (2, deep) + b"," + EVENT % (3, b"3") + b"]}")
    assert len(trace.ops) == 2
    assert repaired(trace) == {"nested-too-deep": 1}


def test_keys_without_end_before_the_events_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="no traceEvents in its first 1 MB"):
        read_text(tmp_path, b'{"junk":"' + b"z" * 3_000_000 + b'",' + START[1:] + EVENT % (1, b"2") + b"]}")


def test_no_more_is_kept_before_the_events_than_any_trace_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit that is shipped: 80 MB of one key, packed into 80 kB, are not read to their end."""
    monkeypatch.undo()
    path = tmp_path / "junk.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"junk":"')
        for _ in range(80):
            file.write(b"z" * (1 << 20))
        file.write(b'",' + START[1:] + EVENT % (1, b"2") + b"]}")
    with pytest.raises(UnreadableTraceError, match="no traceEvents in its first 64 MB"):
        read(path)


@pytest.mark.slow
def test_keys_without_end_behind_the_events_are_left(tmp_path: Path) -> None:
    text = START + EVENT % (1, b"2") + b'],"junk":"' + b"z" * 5_000_000
    kept = read_text(tmp_path, text + b'","world_size":7,"distributedInfo":{"rank":3}}')
    assert repaired(kept)["truncated-metadata"] == 1
    assert len(kept.ops) == 1
    assert kept.meta.distributed == {}


def test_a_list_that_opens_without_end_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DEPTH", 10_000)
    with pytest.raises(UnreadableTraceError, match="nested more than 10,000 deep"):
        read_text(tmp_path, START + b"[" * 20_000)


@pytest.mark.parametrize("key", ["ts", "dur"])
@pytest.mark.parametrize("digits", [30, 400, 5_000, 1_000_000])
def test_numbers_without_end_are_missing_and_read_in_linear_time(tmp_path: Path, key: str, digits: int) -> None:
    began = time.process_time()
    written = b'"%s":' % key.encode()
    event = (EVENT % (1, b"2")).replace(written + b"1", written + b"9" * digits)
    trace = read_text(tmp_path, START + EVENT % (1, b"2") + b"," + event + b"," + EVENT % (3, b"3") + b"]}")
    assert time.process_time() - began < 10
    assert trace.meta.events == 3
    assert set(repaired(trace)) <= {"missing-start", "unfinished", "wrong-type", "absurd-start", "absurd-duration"}
    assert repaired(trace)
    assert trace.ops["end_ns"].max() < 1e12


@pytest.mark.parametrize("digits", [19, 5_000])
def test_a_step_number_beyond_64_bits_is_a_name(tmp_path: Path, digits: int) -> None:
    mark = b'{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%s","pid":1,"tid":1,"ts":1,"dur":9,"args":{}}'
    trace = read_text(tmp_path, START + mark % (b"9" * digits) + b"," + mark % b"7" + b"]}")
    assert trace.steps["number"].tolist() == [7]
    assert len(trace.annotations) == 1


def test_more_columns_than_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_left, "available_bytes", lambda: 1000)
    with pytest.raises(UnreadableTraceError, match="needs more memory"):
        read_text(tmp_path, lines(sound()))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not hold a process to this limit")
@pytest.mark.parametrize("limit_mb", [300, 400, 500])
def test_a_limit_of_memory_ends_in_words(tmp_path: Path, limit_mb: int) -> None:
    """Equal events are the dearest: each is looked up among all others. Hash tables of pandas crash where memory ends."""
    event = '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":5,"dur":1}'
    path = tmp_path / "equal.json"
    path.write_text('{"traceEvents":[' + ",".join([event] * 700_000) + "]}")
    limited = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({limit_mb << 20},) * 2);"
        "from analyzer.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", limited, "explain", str(path), "--format", "json", "-o", str(tmp_path / "out.json")],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert ran.returncode in (0, 3, 4), ran.stderr
    assert (tmp_path / "out.json").exists() == (ran.returncode != 3)
    assert "memory" in ran.stderr or ran.returncode != 3


def test_available_memory_is_known_here() -> None:
    available = memory_left.available_bytes()
    assert available is None or available > 0


@pytest.mark.parametrize(
    "junk", [b'"' * 1_500_000, b"}{" * 750_000, b",]" * 750_000, b'{"ph":"' * 200_000, b'},{"ph":' * 75_000]
)
def test_junk_between_events_is_passed_in_proportion_to_it(tmp_path: Path, junk: bytes) -> None:
    def cpu_s(between: bytes) -> float:
        began = time.process_time()
        with contextlib.suppress(UnreadableTraceError):
            read_text(tmp_path, START + EVENT % (1, b"2") + b"," + between + b"," + EVENT % (3, b"3") + b"]}")
        return time.process_time() - began

    # Four times as much takes four times as long, or sixteen times where each piece is looked for among all; a clock is coarse.
    assert cpu_s(junk) < 8 * cpu_s(junk[: len(junk) // 4]) + 0.5


BAD = {
    "a quote too many": EVENT.replace(b'"a"', b'"a"b"') % (1, b"2"),
    "no end": EVENT[:-2] % (1, b"2"),
    "a number without end": EVENT % (1, b"9" * 400),
    "nested": EVENT % (1, b"[" * 600 + b"]" * 600),
    "cut": EVENT[:40],
    "words": b"NaN, undefined, 'x'",
}


def calls_of_reading(tmp_path: Path, text: bytes) -> int:
    """How many calls, of Python and of C, reading takes."""

    def reading() -> None:
        with contextlib.suppress(UnreadableTraceError):
            read_text(tmp_path, text)

    return calls_of(reading)


def test_each_bad_event_costs_itself(tmp_path: Path) -> None:
    trace = read_text(tmp_path, START + b",".join([BAD["a quote too many"]] * 2_000) + b"," + EVENT % (1, b"2") + b"]}")
    assert repaired(trace) == {"lost-event": 2_000}
    assert len(trace.ops) == 1


@pytest.mark.parametrize("kind", BAD)
def test_bad_events_take_calls_in_proportion_to_the_file(tmp_path: Path, kind: str) -> None:
    """Calls are counted, not seconds; what one call costs is measured by `tests/bench/linear.py`."""
    once, fourfold = (
        calls_of_reading(tmp_path, START + b",".join([BAD[kind]] * many) + b"," + EVENT % (1, b"2") + b"]}")
        for many in (500, 2_000)
    )
    assert fourfold < 5 * once


@pytest.mark.parametrize("category", ["cpu_op", "python_function", "kernel", None])
def test_a_name_longer_than_any_is_shown_by_its_ends(tmp_path: Path, category: str | None) -> None:
    long = f"train.py(3): {'long ' * 100_000}end"
    event = {"ph": "X", "cat": "cpu_op", "name": "short", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    odd = event | ({"cat": long, "name": "a"} if category is None else {"cat": category, "name": long})
    trace = read_text(tmp_path, json.dumps({"traceEvents": [event, odd | {"ts": 5}]}))
    names = {*trace.ops["name"], *trace.python["name"], *trace.kernels["name"]}
    (shown,) = (names | {one.category for one in trace.unknown_categories}) - {"short"}
    assert 4_000 < len(shown) <= 8_001
    assert shown.startswith("train.py(3): long")
    assert "…" in shown
    assert shown.endswith("end")


def test_a_word_is_not_cut_in_two(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    for before in range(3_990, 4_040, 7):
        name = f"{'long ' * 2_000}"[: before - len(secret)] + f" {secret} " + "long " * 2_000
        event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 1}
        (shown,) = read_text(tmp_path, json.dumps({"traceEvents": [event]}).encode()).ops["name"]
        assert ("ghp_" in shown) is (secret in shown)
