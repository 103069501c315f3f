"""What `advisor collect` says of a file it wrote, and whether it looks a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli.collecting.judged import judge
from analyzer.cli.main import main
from building.builders import TraceBuilder


def test_what_was_written_is_read_back_and_graded(tmp_path):
    broken = tmp_path / "t.json"
    broken.write_text("{}")
    verdict = judge(broken)
    assert (verdict.usable, verdict.again) == (False, True)
    assert verdict.message


@pytest.mark.parametrize(("lacked", "again"), [(0.3, True), (0.01, False)])
def test_a_moment_in_which_others_had_the_cores_is_looked_at_again(tmp_path, lacked, again):
    builder = TraceBuilder(None, advisor={"core_wait_ratio": lacked})
    for number in range(6):
        builder.step(number, number * 1_000, 1_000).op("aten::linear", number * 1_000, 900)
    verdict = judge(builder.write(tmp_path / "t.json"))
    assert (verdict.usable, verdict.again) == (True, again)


@pytest.mark.parametrize(
    ("name", "size", "hint"),
    [("t.json", 20_000_000, True), ("t.json", 19_999_999, False), ("t.json.gz", 20_000_000, False)],
)
def test_a_large_file_may_be_compressed(capsys, monkeypatch, name, size, hint):
    from traces.collect.script.session import Recording, ScriptResult, Verdict

    made = Recording(Path(name), 9, 6, size, "optimizer", None, None, Verdict(usable=True))
    monkeypatch.setattr(
        "traces.collect.script.session.collect_script", lambda config, judge, say: ScriptResult(recordings=[made])
    )
    assert main(["collect", "train.py"]) == 0
    assert ("note: -o t.json.gz writes it compressed" in capsys.readouterr().err) is hint


@pytest.mark.parametrize("lacks", ["no CUDA device is in use", ""])
def test_counters_that_were_asked_for_and_are_none_are_told(capsys, monkeypatch, lacks):
    from traces.collect.script.session import Recording, ScriptResult, Verdict

    made = Recording(Path("t.json"), 9, 6, 99, "optimizer", None, None, Verdict(usable=True), counters_left_out=lacks)
    asked = []
    monkeypatch.setattr(
        "traces.collect.script.session.collect_script",
        lambda config, judge, say: (asked.append(config.counters), ScriptResult(recordings=[made]))[1],
    )
    assert main(["collect", "--counters", "activity", "train.py"]) == 0
    assert main(["collect", "train.py"]) == 0
    assert asked == ["activity", ""]
    assert (f"note: no counters are sampled: {lacks}" in capsys.readouterr().err) is bool(lacks)


@pytest.mark.parametrize("left_out", [True, False], ids=["over before", "recorded"])
def test_that_no_line_is_named_is_told_where_lines_were_asked_for(capsys, monkeypatch, left_out):
    from traces.collect.script.session import Recording, ScriptResult, Verdict

    made = Recording(
        Path("t.json"), 9, 6, 99, "optimizer", None, None, Verdict(usable=True), evidence_left_out=left_out
    )
    monkeypatch.setattr(
        "traces.collect.script.session.collect_script", lambda config, judge, say: ScriptResult(recordings=[made])
    )
    assert main(["collect", "--evidence", "train.py"]) == 0
    assert ("note: --evidence found no step for stacks" in capsys.readouterr().err) is left_out


@pytest.mark.parametrize("left_out", [True, False])
def test_stacks_that_were_asked_for_and_are_none_are_told(capsys, monkeypatch, left_out):
    from traces.collect.script.session import Recording, ScriptResult, Verdict

    made = Recording(Path("t.json"), 9, 6, 99, "optimizer", None, None, Verdict(usable=True), stacks_left_out=left_out)
    monkeypatch.setattr(
        "traces.collect.script.session.collect_script", lambda config, judge, say: ScriptResult(recordings=[made])
    )
    assert main(["collect", "--stacks", "train.py"]) == 0
    assert ("note: no stacks are recorded: torch before 2.7" in capsys.readouterr().err) is left_out
