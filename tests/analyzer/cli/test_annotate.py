"""`advisor annotate`: what was recorded, unchanged, and the diagnosis beside it on the same clock."""

import gzip
import itertools
import json
import os

import msgspec
import pytest

from analyzer.cli.main import main
from analyzer.explain import Options, analyse
from building.builders import TraceBuilder

EVIL = "</script>\u202e\x1b[31m::error"


def looping(**top):
    """Six steps of 100 ms on a GPU, of which the loader takes 40."""
    builder = TraceBuilder(**top)
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 40_000)
        builder.launch(at + 50_000, kernel_start=at + 50_010, kernel_dur=45_000)
    return builder


@pytest.fixture
def trace(tmp_path):
    return looping().write(tmp_path / "trace.json")


def load(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def parts(before, after):
    """The added events of the annotated document, after checking that the rest is as it was."""
    count = len(before["traceEvents"])
    assert after["traceEvents"][:count] == before["traceEvents"]
    assert {key: value for key, value in after.items() if key != "traceEvents"} == {
        key: value for key, value in before.items() if key != "traceEvents"
    }
    return after["traceEvents"][count:]


@pytest.mark.parametrize("name", ["annotated.json", "annotated.json.gz"])
def test_events_stay_and_two_tracks_come(trace, tmp_path, capsys, name):
    output = tmp_path / name
    assert main(["annotate", str(trace), "-o", str(output)]) == 0
    added = parts(load(trace), load(output))
    assert {event["pid"] for event in added} == {"advisor"}
    assert {event["tid"] for event in added if event["ph"] == "X"} == {1, 2}
    names = [event["args"]["name"] for event in added if event["name"] == "thread_name"]
    assert names == ["GPU gaps and their causes", "findings: the time each explains"]
    assert "perfetto" in capsys.readouterr().out


def test_gaps_lie_where_the_device_waits_and_say_for_what(trace, tmp_path):
    output = tmp_path / "annotated.json"
    main(["annotate", str(trace), "-o", str(output)])
    original = load(trace)["traceEvents"]
    added = parts(load(trace), load(output))
    loads = [event for event in original if "DataLoader" in event["name"]]
    waits = [event for event in added if event["ph"] == "X" and event["tid"] == 1 and event["name"] == "input wait"]
    assert waits
    for wait in waits:
        inside = [
            one for one in loads
            if one["ts"] - 0.01 <= wait["ts"] and wait["ts"] + wait["dur"] <= one["ts"] + one["dur"] + 0.01
        ]  # fmt: skip
        assert inside
    assert sum(wait["dur"] for wait in waits) == pytest.approx(len(waits) * 40_000, rel=0.01)


def test_events_of_a_track_never_overlap(trace, tmp_path):
    output = tmp_path / "annotated.json"
    main(["annotate", str(trace), "-o", str(output)])
    for thread in (1, 2):
        track = [one for one in load(output)["traceEvents"] if one.get("pid") == "advisor" and one["tid"] == thread]
        spans = [(one["ts"], one["ts"] + one["dur"]) for one in track if one["ph"] == "X"]
        assert spans == sorted(spans)
        assert all(end <= start + 1e-3 for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("base_us", [0.0, 4_458_676_416_788.067, 1_623_142_623_460_016.5])
def test_no_viewer_rounds_an_event_into_the_next(tmp_path, base_us):
    """Perfetto drops an event that begins before the one before it has ended, and reads times as floating-point numbers."""
    document = looping().document()
    for event in document["traceEvents"]:
        if "ts" in event:
            event["ts"] += base_us
    trace, output = tmp_path / "trace.json", tmp_path / "annotated.json"
    trace.write_text(json.dumps(document))
    assert main(["annotate", str(trace), "-o", str(output)]) == 0
    for thread in (1, 2):
        track = [one for one in load(output)["traceEvents"] if one.get("pid") == "advisor" and one["tid"] == thread]
        spans = [(int(one["ts"] * 1000), int(one["dur"] * 1000)) for one in track if one["ph"] == "X"]
        assert len(spans) > 6
        assert all(start + dur <= following for (start, dur), (following, _) in itertools.pairwise(spans))


def test_added_events_keep_the_rules_of_the_format(trace, tmp_path):
    """Those of the Trace Event Format, which viewers drop events for breaking: complete spans and named tracks only."""
    output = tmp_path / "annotated.json"
    main(["annotate", str(trace), "-o", str(output)])
    before, after = load(trace), load(output)
    added = parts(before, after)
    assert not {event["pid"] for event in added} & {event.get("pid") for event in before["traceEvents"]}
    spans = [event for event in added if event["ph"] == "X"]
    labels = [event for event in added if event["ph"] == "M"]
    assert len(spans) + len(labels) == len(added)
    for span in spans:
        assert isinstance(span["name"], str)
        assert span["name"]
        assert all(isinstance(span[key], (int, float)) and span[key] >= 0 for key in ("ts", "dur"))
        assert isinstance(span["args"], dict)
    named = {(event["pid"], event["tid"]) for event in labels if event["name"] == "thread_name"}
    assert {(span["pid"], span["tid"]) for span in spans} <= named
    assert [event["args"]["name"] for event in labels if event["name"] == "process_name"]
    begins = [event["ts"] for event in before["traceEvents"] if event.get("ph") == "X"]
    ends = [event["ts"] + event["dur"] for event in before["traceEvents"] if event.get("ph") == "X"]
    assert all(min(begins) <= span["ts"] and span["ts"] + span["dur"] <= max(ends) + 1e-3 for span in spans)


def test_an_annotated_trace_gives_the_same_analysis(trace, tmp_path):
    output = tmp_path / "trace.json.gz"
    main(["annotate", str(trace), "-o", str(output)])
    before, after = analyse(trace, Options()), analyse(output, Options())
    assert msgspec.to_builtins(after.summary) == msgspec.to_builtins(before.summary)
    assert after.findings == before.findings


def test_annotating_twice_gives_the_same_bytes(trace, tmp_path):
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json.gz"
    for output in (first, second):
        main(["annotate", str(trace), "-o", str(output)])
    assert first.read_bytes() == second.read_bytes()


def test_hostile_names_stay_in_valid_json(tmp_path):
    builder = looping()
    for event in builder.events:
        if not event["name"].startswith("ProfilerStep") and event["ph"] == "X":
            event["name"] += EVIL
    trace, output = builder.write(tmp_path / "trace.json"), tmp_path / "annotated.json"
    assert main(["annotate", str(trace), "-o", str(output)]) == 0
    added = parts(load(trace), load(output))
    texts = [text for event in added for text in event.get("args", {}).values() if isinstance(text, str)]
    assert any(r"\u202e\x1b[31m" in text for text in texts)
    assert all(text.isprintable() for text in texts)


def test_cpu_only_trace_is_annotated_too(tmp_path):
    builder = TraceBuilder(None)
    for number in range(6):
        builder.step(number, number * 100_000, 100_000)
        builder.loader(number * 100_000, 40_000)
        builder.op("aten::mm", number * 100_000 + 45_000, 50_000)
    trace, output = builder.write(tmp_path / "trace.json"), tmp_path / "annotated.json"
    assert main(["annotate", str(trace), "-o", str(output)]) == 0
    names = [event["name"] for event in parts(load(trace), load(output)) if event["ph"] == "X" and event["tid"] == 1]
    assert "input wait" in names
    assert "compute" not in names


@pytest.mark.parametrize("target", ["trace.json", ".", "absent/out.json"])
def test_impossible_outputs_are_refused_and_harm_nothing(trace, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    before = trace.read_bytes()
    assert main(["annotate", "trace.json", "-o", target]) == 2
    assert trace.read_bytes() == before
    assert os.listdir(tmp_path) == ["trace.json"]


def test_unreadable_trace_leaves_no_file(tmp_path, capsys):
    trace = tmp_path / "trace.json"
    trace.write_text("no trace")
    assert main(["annotate", str(trace), "-o", str(tmp_path / "out.json")]) == 3
    assert os.listdir(tmp_path) == ["trace.json"]
