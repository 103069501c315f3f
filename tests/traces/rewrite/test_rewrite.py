"""Rewritten traces are valid, keep what they should, and never stand half-written under their name."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from trace_files import SHARED, each_shared, frames, lines, needs_shared, repaired, sound

from analyzer.cli.commands.repair import command as repair
from analyzer.cli.commands.slim import command as slim
from analyzer.facts import Facts
from building.builders import TraceBuilder
from traces.errors import UnreadableTraceError, UsageError
from traces.reader.mend.repairs import OF_EVENTS
from traces.reader.read import read
from traces.rewrite.annotated import write_annotated
from traces.rewrite.mended import write_mended
from traces.rewrite.slim import write_slim

_ADDED = b'{"ph": "X", "cat": "advisor", "name": "gap", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'


def document(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()

    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is no JSON")

    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    found: dict[str, Any] = json.loads(text.decode(), parse_constant=refuse)
    return found


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "in.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return path


def same_frames(left: Path, right: Path) -> None:
    first, second = read(left), read(right)
    for name, frame in frames(first).items():
        pd.testing.assert_frame_equal(frame, frames(second)[name], obj=name)
    assert second.meta.top == first.meta.top
    assert second.meta.events == first.meta.events


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_a_sound_trace_keeps_every_event_as_it_was(tmp_path: Path, name: str) -> None:
    builder = sound()
    result = write_mended(write(tmp_path, lines(builder)), tmp_path / name)
    assert result.repairs == ()
    assert result.size_bytes == (tmp_path / name).stat().st_size
    found = document(tmp_path / name)
    assert found["traceEvents"] == builder.events
    assert found | {"traceEvents": None} == builder.top | {"traceEvents": None}


@needs_shared
@each_shared
def test_a_recorded_trace_is_the_same_after_repair(tmp_path: Path, path: Path) -> None:
    if path.stat().st_size > 800_000:
        pytest.skip("small traces say the same, faster")
    write_mended(path, tmp_path / "out.json.gz")
    same_frames(path, tmp_path / "out.json.gz")


def test_damage_of_many_kinds_is_repaired(tmp_path: Path) -> None:
    builder = sound()
    builder.op('quoteQ"', 1_000_003, 1)
    builder.op(r"C:\dev\torch PATH", 1_000_001, 1)
    builder.op("loud \x01", 1_000_002, 1, loss=float("nan"))
    builder.op("cut off", 1_000_004, 1)
    text = lines(builder).replace(r"C:\\dev\\torch", r"C:\dev\torch").replace(r"\u0001", "\x01").replace('Q\\"', 'Q"')
    text = text.replace('"traceEvents": [', '"traceEvents": [null, {}, "x",')[:-20] + "\udcff"
    result = write_mended(write(tmp_path, text), tmp_path / "out.json.gz")
    kinds = {r.kind for r in result.repairs}
    assert {"invalid-escape", "control-character", "invalid-number", "lost-event", "not-an-event"} <= kinds
    found = document(tmp_path / "out.json.gz")
    names = [event.get("name") for event in found["traceEvents"]]
    assert r"C:\dev\torch PATH" in names
    assert "loud \x01" in names
    assert result.events == len(names)
    assert read(tmp_path / "out.json.gz", strict=False).meta.events == result.events


def test_a_cut_gzip_is_repaired(tmp_path: Path) -> None:
    packed = gzip.compress(lines(sound(50)).encode())
    result = write_mended(write(tmp_path, packed[: len(packed) // 2]), tmp_path / "out.json")
    assert {r.kind for r in result.repairs} >= {"truncated-gzip", "truncated"}
    assert len(document(tmp_path / "out.json")["traceEvents"]) == result.events > 100
    read(tmp_path / "out.json", strict=True)


_OP = '{"ph": "X", "cat": "cpu_op", "name": "odd", "pid": 1, "tid": 1, "ts": 1000010, "dur": 5}'
_OF_EVENTS = {
    "empty-event": "{}",
    "wrong-type": _OP.replace('"odd"', "7"),
    "duplicate-key": _OP.replace('"dur": 5', '"dur": 5, "dur": 5'),
    "missing-phase": _OP.replace('"ph": "X", ', ""),
    "missing-start": _OP.replace('"ts": 1000010, ', ""),
    "unfinished": _OP.replace('"dur": 5', '"dur": -1'),
    "unmatched-end": _OP.replace('"X"', '"E"'),
    "negative-duration": _OP.replace('"dur": 5', '"dur": -9'),
    "absurd-duration": _OP.replace('"dur": 5', '"dur": 1e25'),
    "absurd-start": _OP.replace("1000010", "-1e15"),
    "repeated-event": f"{_OP},\n{_OP}",
}


@pytest.mark.parametrize("kind", sorted(OF_EVENTS - {"swallowed-escape", "partial-step"}))
def test_what_events_state_is_kept_and_told_as_no_repair_of_the_file(tmp_path: Path, kind: str) -> None:
    """What `explain` corrects or leaves out in reading, no copy undoes: both commands say so in words of their own."""
    source = write(tmp_path, lines(sound()).replace('"traceEvents": [', f'"traceEvents": [\n{_OF_EVENTS[kind]},'))
    assert write_mended(source, tmp_path / "out.json").repairs == ()
    for path in (source, tmp_path / "out.json"):
        trace = read(path)
        assert kind in repaired(trace)
        assert set(repaired(trace)) <= OF_EVENTS
        (symptom,) = [one for one in Facts(trace).health.symptoms if one.code is None]
        assert symptom.message.startswith("Events were corrected or left out: ")
        assert "repaired" not in symptom.message


def test_a_repaired_copy_is_told_as_one(tmp_path: Path) -> None:
    text = lines(sound(8))
    source = write(tmp_path, text[: len(text) * 7 // 10])
    write_mended(source, tmp_path / "out.json")
    said = [
        next(one.message for one in Facts(read(path)).health.symptoms if one.code is None)
        for path in (source, tmp_path / "out.json")
    ]
    left_out = "Events were corrected or left out: steps cut off (1)."
    assert said == [
        f"The file had to be repaired: the end is missing (1). {left_out}",
        f"This is a copy of a damaged file: the end is missing (1). {left_out}",
    ]


@pytest.mark.parametrize("how", [write_mended, write_slim, lambda *paths: write_annotated(*paths, [_ADDED])])
def test_a_copy_of_a_cut_trace_still_lacks_what_was_lost(tmp_path: Path, how: Callable[[Path, Path], object]) -> None:
    text = lines(sound(8))
    source = write(tmp_path, text[: len(text) * 7 // 10])
    how(source, tmp_path / "once.json.gz")
    # A copy of the copy is no sounder.
    how(tmp_path / "once.json.gz", tmp_path / "twice.json")
    first, last = read(source), read(tmp_path / "twice.json", strict=True)
    assert last.whole_until_ns == first.whole_until_ns is not None
    (repair,) = [one for one in last.repairs if one.kind == "truncated"]
    assert repair.count == 1
    assert repair.first_offset is None
    assert "the file that this one was made from" in repair.message


def test_lost_events_are_remembered_and_mended_ones_are_not(tmp_path: Path) -> None:
    text = lines(sound()).replace('"name": "aten::add"', '"name": "a"d"d"', 2).replace("cudaMemcpyAsync", "cuda\\x", 1)
    result = write_mended(write(tmp_path, text), tmp_path / "out.json")
    lost = {r.kind: r.count for r in result.repairs}["lost-event"]
    assert document(tmp_path / "out.json")["advisor_lost"] == {"lost-event": lost}
    assert {r.kind: r.count for r in read(tmp_path / "out.json").repairs} == {"lost-event": lost}


@pytest.mark.parametrize("value", [3, [], {"lost-event": "x", "truncated": -1, "other": 5, "damaged-gzip": True}])
def test_what_a_file_makes_up_of_losses_is_none(tmp_path: Path, value: object) -> None:
    builder = sound()
    builder.top["advisor_lost"] = value
    assert read(write(tmp_path, lines(builder))).repairs == ()


def test_nothing_is_left_behind_when_reading_fails(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("before")
    for content in (b"hello", b"[]"):
        with pytest.raises(UnreadableTraceError):
            write_mended(write(tmp_path, content), tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.json", "out.json"]


def test_nothing_is_left_behind_when_interrupted(tmp_path: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_mended(write(tmp_path, lines(sound())), tmp_path / "out.json.gz", interrupt)
    assert [p.name for p in tmp_path.iterdir()] == ["in.json"]


def test_an_output_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    path = write(tmp_path, lines(sound()))
    for output in (tmp_path, path, tmp_path / "none" / "out.json"):
        with pytest.raises(UsageError):
            write_mended(path, output)


def test_a_dash_names_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-o -` prints a report; of a trace it wrote a file of that name, which `ls` shows and `rm` does not take."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not written to standard output"):
        write_mended(write(tmp_path, lines(sound())), Path("-"))
    assert [p.name for p in tmp_path.iterdir()] == ["in.json"]


def test_slim_keeps_the_steps_and_what_was_launched_in_them(tmp_path: Path) -> None:
    builder = sound(5)
    # Launched at the very end of step 2, run in step 4.
    builder.launch(1_299_000, kernel_start=1_450_000, kernel_dur=10, name="late")
    # Launched before, still running when step 1 begins.
    builder.launch(1_090_000, kernel_start=1_095_000, kernel_dur=9000, name="spill")
    builder.launch(1_090_500, kernel_start=1_150_000, kernel_dur=10, name="inside")
    builder.launch(1_050_000, kernel_start=1_060_000, kernel_dur=10, name="before")
    path = write(tmp_path, lines(builder))
    result = write_slim(path, tmp_path / "out.json.gz", steps=(1, 2))
    trace = read(tmp_path / "out.json.gz", strict=True)
    assert trace.steps["number"].tolist() == [1, 2]
    assert trace.meta.events == result.events
    names = set(trace.kernels["name"])
    assert {"late", "spill", "inside"} <= names
    assert "before" not in names
    whole = read(path)
    inside = whole.runtime["start_ns"].between(100_000_000, 300_000_000, inclusive="left")
    assert len(trace.runtime) == int(inside.sum())
    assert trace.meta.devices == whole.meta.devices


def test_slim_leaves_out_python_and_shapes(tmp_path: Path) -> None:
    builder = sound(2).python("train.py(3): f", 1_000_000, 10)
    builder.op("aten::mm", 1_000_000, 5, **{"Input Dims": [[2, 3]], "Input type": ["float"], "Sequence number": 4})
    path = write(tmp_path, lines(builder))
    write_slim(path, tmp_path / "out.json", python=False, shapes=False)
    trace = read(tmp_path / "out.json", strict=True)
    assert len(trace.python) == 0
    assert trace.ops["input_dims"].isna().all()
    assert trace.ops["sequence"].dropna().tolist() == [4]
    assert trace.meta.events == len(builder.events) - 1


# Spelled as torch 1.8 and torch 2 do.
STACKS = {
    "Call stack": "train.py(3): f;train.py(9): <module>",
    "Python id": 4,
    "Python parent id": 3,
    "Python module id": 0,
}
SHAPES = {
    "Input Dims": [[2, 3]], "Input dims": [[2, 3]], "Input type": ["float"], "Input Strides": [[3, 1]],
    "Input names": ["x"], "Concrete Inputs": ["1"], "Output dims": [[3]], "Output type": ["float"], "Output names": ["y"],
}  # fmt: skip


@pytest.mark.parametrize("option", ["--no-python", "--no-shapes"])
def test_slim_leaves_out_the_arguments_that_serve_nothing_else(tmp_path: Path, option: str) -> None:
    dropped, kept = (STACKS, SHAPES) if option == "--no-python" else (SHAPES, STACKS)
    builder = sound(2).python("train.py(3): f", 1_000_000, 10)
    builder.op("aten::mm", 1_000_000, 5, **STACKS, **SHAPES, **{"Sequence number": 4})
    # A name is no argument.
    builder.op("Call stack", 1_000_000, 5, **{"note": "Input type"})
    path = write(tmp_path, lines(builder))
    said = CliRunner().invoke(slim, [str(path), "-o", str(tmp_path / "out.json"), option])
    assert said.exit_code == 0
    args = [event.get("args", {}) for event in document(tmp_path / "out.json")["traceEvents"]]
    multiplication = next(one for one in args if one.get("Sequence number") == 4)
    assert set(multiplication) == {"External id", "Sequence number", *kept}
    assert not any(set(dropped) & set(one) for one in args)
    assert any(one.get("note") == "Input type" for one in args)
    assert read(tmp_path / "out.json", strict=True).meta.events == len(args)


@pytest.mark.slow
@needs_shared
def test_slim_without_stacks_is_a_fraction_of_a_trace_that_is_mostly_stacks(tmp_path: Path) -> None:
    path = SHARED / "kineto_resnet50_workers0_a.pt.trace.json.gz"
    whole, slimmed = write_slim(path, tmp_path / "a.json"), write_slim(path, tmp_path / "b.json", python=False)
    assert slimmed.events == whole.events
    assert slimmed.size_bytes < 0.7 * whole.size_bytes
    assert read(tmp_path / "b.json", strict=True).ops["stack"].isna().all()
    without = write_slim(path, tmp_path / "c.json", shapes=False)
    assert without.size_bytes < 0.95 * whole.size_bytes
    assert read(tmp_path / "c.json", strict=True).ops["input_dims"].isna().all()


def test_slim_keeps_an_event_with_an_odd_value_and_says_what_it_repaired(tmp_path: Path) -> None:
    builder = sound(3)
    builder.op("odd", 1_100_000, 5, **{"External id": []})
    text = lines(builder).replace('"traceEvents": [', '"traceEvents": [null,')
    said = CliRunner().invoke(slim, [str(write(tmp_path, text)), "-o", str(tmp_path / "s.json"), "--steps", "1-2"])
    assert "repaired: not-an-event x1, first at byte" in said.output
    assert "odd" in {event["name"] for event in document(tmp_path / "s.json")["traceEvents"]}


def test_slim_of_missing_steps_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such steps") as caught:
        write_slim(write(tmp_path, lines(sound())), tmp_path / "out.json", steps=(7, 9))
    assert "0-2" in str(caught.value)
    plain = TraceBuilder()
    plain.op("a", 1, 2)
    with pytest.raises(UsageError, match="no step marks"):
        write_slim(write(tmp_path, lines(plain)), tmp_path / "out.json", steps=(7, 9))


def test_slim_of_a_file_without_an_event_says_so(tmp_path: Path) -> None:
    """What was asked for is not to blame, as it is where all there is was to be left out."""
    path = tmp_path / "empty.json"
    path.write_text('{"traceEvents": []}')
    with pytest.raises(UnreadableTraceError, match="holds no events"):
        write_slim(path, tmp_path / "copy.json")
    path.write_text(
        json.dumps({"traceEvents": [{"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1}]})
    )
    with pytest.raises(UsageError, match="nothing of the trace"):
        write_slim(path, tmp_path / "copy.json", python=False)


@pytest.mark.slow
@needs_shared
def test_slim_of_a_recorded_trace_is_small(tmp_path: Path) -> None:
    path = SHARED / "hta_a100_ddp_resnet.json.gz"
    numbers = read(path).steps["number"].tolist()
    write_slim(path, tmp_path / "out.json.gz", steps=(numbers[0], numbers[0]), python=False, shapes=False)
    trace = read(tmp_path / "out.json.gz", strict=True)
    assert numbers[0] in trace.steps["number"].tolist()
    assert len(trace.kernels) > 0


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    path = write(tmp_path, lines(sound())[:-200])
    said = CliRunner().invoke(repair, [str(path), "-o", str(tmp_path / "out.json.gz")])
    assert said.exit_code == 0
    assert "repaired: truncated x1, first at byte" in said.output
    assert "events" in said.output.splitlines()[-1]
    said = CliRunner().invoke(slim, [str(tmp_path / "out.json.gz"), "-o", str(tmp_path / "s.json"), "--steps", "1"])
    assert said.exit_code == 0
    assert read(tmp_path / "s.json").steps["number"].tolist() == [1]


def test_one_event_is_one(tmp_path: Path) -> None:
    """`wrote out.json: 1 events, 0 kB`."""
    path = write(tmp_path, '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}')
    done = CliRunner().invoke(repair, [str(path), "-o", str(tmp_path / "out.json")])
    assert re.search(r": 1 event, \d{2,3} bytes$", done.output.strip())
