"""Text that is not quite JSON (odd-traces rows 1-9): what is readable is read, every repair is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_files import lines, read_text, repaired, sound, with_op

from traces.errors import UnreadableTraceError
from traces.reader.input import source
from traces.reader.mend.repairs import MESSAGES

OPS = 18
EVENTS = len(sound().events)


@pytest.fixture(params=[8 << 20, 700], ids=["one block", "small blocks"], autouse=True)
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", request.param)


def test_the_sound_trace_needs_no_repair(tmp_path: Path) -> None:
    trace = read_text(tmp_path, lines(sound()), strict=True)
    assert trace.repairs == ()
    assert len(trace.ops) == OPS


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_file_gives_every_whole_event(tmp_path: Path, share: float) -> None:
    text = lines(sound())
    cut = text[: int(len(text) * share)]
    trace = read_text(tmp_path, cut)
    whole = cut.count('"ph"') - 1
    assert whole <= trace.meta.events <= whole + 1
    assert repaired(trace)["truncated"] == 1
    repair = next(r for r in trace.repairs if r.kind == "truncated")
    assert repair.first_offset is not None
    assert 0 < repair.first_offset <= len(cut)
    assert f"{len(cut):,}" in repair.message


def test_a_cut_file_loses_its_last_partial_step(tmp_path: Path) -> None:
    text = lines(sound())
    trace = read_text(tmp_path, text[: text.rindex('"Optimizer.step')])
    assert trace.steps["number"].tolist() == [0, 1]
    assert repaired(trace) == {"truncated": 1, "partial-step": 1}


def test_a_file_cut_between_two_events_is_cut(tmp_path: Path) -> None:
    text = lines(sound())
    trace = read_text(tmp_path, text[: text.rindex("},\n{") + 1])
    assert trace.meta.events == EVENTS - 1
    assert repaired(trace)["truncated"] == 1


def test_a_bare_list_may_stay_open_and_end_in_a_comma(tmp_path: Path) -> None:
    events = json.dumps(sound().events)
    for text in (events, events[:-1], events[:-1] + ",", events[:-1] + ",\n]\n"):
        trace = read_text(tmp_path, text)
        assert trace.meta.events == EVENTS
        assert repaired(trace) == {}
        assert any("bare list" in note for note in trace.notes)


def test_a_comma_after_the_last_event_is_accepted(tmp_path: Path) -> None:
    trace = read_text(tmp_path, lines(sound()).replace("\n]}", ",\n]}"))
    assert trace.meta.events == EVENTS


def test_a_comma_after_the_last_key_is_ignored(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", args='{"x": 1,}'))
    assert len(trace.ops) == OPS + 1
    assert repaired(trace) == {"trailing-comma": 1}


@pytest.mark.parametrize("missing", [1, 7, EVENTS - 1])
def test_a_missing_comma_between_events_is_thought_there(tmp_path: Path, missing: int) -> None:
    trace = read_text(tmp_path, lines(sound()).replace("},\n{", "}\n{", missing))
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"missing-comma": missing}


def test_a_missing_bracket_at_the_end_is_put_in(tmp_path: Path) -> None:
    trace = read_text(tmp_path, lines(sound()).replace("\n]}", "\n}"))
    assert trace.meta.events == EVENTS
    assert set(repaired(trace)) & {"missing-bracket", "truncated"}


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "nan", "-nan", "inf", "1e999"])
def test_numbers_that_are_none_are_missing(tmp_path: Path, word: str) -> None:
    trace = read_text(tmp_path, with_op("a", args=f'{{"External id": 3, "Sequence number": {word}}}'))
    assert len(trace.ops) == OPS + 1
    odd = trace.ops[trace.ops["name"] == "a"]
    assert odd["sequence"].isna().all()
    assert odd["external_id"].tolist() == [3]
    assert sum(repaired(trace).values()) == 1


@pytest.mark.parametrize("word", ["NaN", '"NaN"', "null", '"x"'])
def test_a_duration_that_is_none_reaches_no_sum(tmp_path: Path, word: str) -> None:
    trace = read_text(tmp_path, with_op("a", dur=word))
    assert repaired(trace)["unfinished"] == 1
    assert int(trace.ops["dur_ns"].max()) < 100_000_000


def test_windows_paths_are_kept_and_counted(tmp_path: Path) -> None:
    text = with_op(r"C:\Users\dev\torch\nn\functional.py(12): relu", args=r'{"Call stack": "C:\code\train.py(3): f"}')
    trace = read_text(tmp_path, text)
    odd = trace.ops[trace.ops["name"].str.startswith("C:")]
    assert odd["name"].tolist() == [r"C:\Users\dev\torch\nn\functional.py(12): relu"]
    assert odd["stack"].tolist() == [r"C:\code\train.py(3): f"]
    repair = next(r for r in trace.repairs if r.kind == "invalid-escape")
    assert repair.count == 7
    assert repair.first_offset is not None
    assert repair.first_event is not None


def test_a_path_of_valid_escapes_only_is_restored(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op(r"torch\nn\functional.py(12): relu"))
    assert r"torch\nn\functional.py(12): relu" in set(trace.ops["name"])
    assert repaired(trace) == {"swallowed-escape": 1}


def test_raw_control_characters_are_kept_escaped(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a\x01b\nc\x1b[31m"))
    assert "a\x01b\nc\x1b[31m" in set(trace.ops["name"])
    assert repaired(trace) == {"control-character": 3}


def test_an_unescaped_quote_costs_one_event(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op('operator"" _x'))
    assert len(trace.ops) == OPS
    assert len(trace.kernels) == 15
    assert repaired(trace) == {"lost-event": 1}


def test_many_unescaped_quotes_cost_one_event_each(tmp_path: Path) -> None:
    builder = sound()
    for number in range(20):
        builder.op(f"bad{number}Q", 1_000_000 + number, 0.5)
        builder.op(f"good{number}", 1_000_000 + number, 0.5)
    trace = read_text(tmp_path, lines(builder).replace('Q"', '"Q"'))
    assert len(trace.ops) == OPS + 20
    assert repaired(trace) == {"lost-event": 20}


def test_an_unescaped_quote_in_the_last_event_leaves_the_metadata(tmp_path: Path) -> None:
    builder = sound()
    builder.op("lastQ", 1_000_000, 5)
    text = '{"traceEvents":' + json.dumps(builder.events).replace('Q"', '"Q"') + ',"baseTimeNanoseconds":5}'
    trace = read_text(tmp_path, text)
    assert repaired(trace) == {"lost-event": 1}
    assert len(trace.ops) == OPS
    assert trace.meta.base_ns == 5


def test_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("caf\udce9 \udcff"))
    assert "caf\ufffd \ufffd" in set(trace.ops["name"])
    assert repaired(trace) == {"invalid-utf8": 2}


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op(r"a\ud800b \ud83d\ude00"))
    assert "a\ufffdb \U0001f600" in set(trace.ops["name"])
    assert repaired(trace) == {"invalid-surrogate": 1}


def test_a_mark_amid_a_text_in_utf_16_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = lines(sound()).replace("Adam", "\ufeffAdam").encode("utf-16")
    # A block begins with it, among others.
    monkeypatch.setattr(source, "PIECE_BYTES", text.index("\ufeffAdam".encode("utf-16-le")))
    assert "Optimizer.step#\ufeffAdam.step" in set(read_text(tmp_path, text).annotations["name"])


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    trace = read_text(tmp_path, lines(sound()).replace("Adam", "\u00c5dam").encode(encoding))
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {}
    assert "Optimizer.step#\u00c5dam.step" in set(trace.annotations["name"])


def test_damaged_metadata_costs_the_metadata(tmp_path: Path) -> None:
    text = lines(sound()).replace('{"schemaVersion"', '{"note": "a "quoted" word", "schemaVersion"', 1)
    trace = read_text(tmp_path, text)
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"damaged-metadata": 1}


def test_metadata_with_nan_is_mended(tmp_path: Path) -> None:
    trace = read_text(tmp_path, lines(sound()).replace('{"schemaVersion"', '{"x": NaN, "schemaVersion"', 1))
    assert trace.meta.top["x"] is None
    assert repaired(trace) == {"invalid-number": 1}


def test_metadata_with_a_path_counts_that_alone(tmp_path: Path) -> None:
    text = lines(sound()).replace('{"schemaVersion"', r'{"x": "C:\data", "schemaVersion"', 1)
    trace = read_text(tmp_path, text)
    assert trace.meta.top["x"] == r"C:\data"
    assert repaired(trace) == {"invalid-escape": 1}


@pytest.mark.parametrize("defect", [r'"C:\d"', '"a\x01"', "17"])
def test_strict_refuses_what_has_to_be_repaired(tmp_path: Path, defect: str) -> None:
    text = with_op("a", name=defect)
    assert read_text(tmp_path, text).repairs
    with pytest.raises(UnreadableTraceError, match="is damaged") as caught:
        read_text(tmp_path, text, strict=True)
    assert caught.value.exit_code == 3
    assert "byte" in str(caught.value)


def test_every_message_reads_like_a_sentence() -> None:
    for kind, message in MESSAGES.items():
        assert kind == kind.lower()
        assert message[0].islower()
        assert not message.endswith(".")
