import datetime
import json
import os
import sys
import types

import msgspec
import pytest

from analyzer.cli.arguments import settings
from analyzer.cli.main import main
from analyzer.explain import Options
from analyzer.explained import Explained
from analyzer.job.engines.cluster import ClusterEngine
from analyzer.job.engines.local import ProcessesEngine
from jobs.simulated import Job as RanksJob
from showing import analyses
from traces.errors import UnreadableTraceError, UsageError


def test_piped_output_is_plain_text(world, capsys):
    assert main(["explain", "trace.json"]) == 0
    out = capsys.readouterr().out
    assert "train.py:88: DL002 [high] DataLoader has no workers" in out
    assert "\x1b" not in out


def test_a_pipe_gets_the_answer_in_brief_unless_it_asks_for_all(world, capsys):
    assert main(["explain", "trace.json"]) == 0
    brief = capsys.readouterr().out
    assert len(brief.splitlines()) <= 35
    assert "6 to act on, 1 explained, 1 note" in brief
    assert "\nFirst: DL002 DataLoader has no workers" in brief
    assert "num_workers=8" in brief
    assert "In full: add --full" in brief
    assert "Checks:" not in brief
    for asked in (["--full"], ["--plain"], ["--format", "text"]):
        assert main(["explain", "trace.json", *asked]) == 0
        whole = capsys.readouterr().out
        assert "Checks:" in whole
        assert "In full: add --full" not in whole
    assert main(["explain", "trace.json", "--brief", "--format", "text"]) == 0
    assert capsys.readouterr().out == brief


def test_brief_says_why_to_doubt_and_why_there_is_no_advice(world, capsys):
    assert main(["explain", "trace.json", "--brief"]) == 0
    assert "Caution: PG002 The profiler adds 6 % to each step." in capsys.readouterr().out
    world.answer = analyses.unusable()
    assert main(["explain", "trace.json", "--brief"]) == 4
    assert "What to record instead" in capsys.readouterr().out


def test_brief_and_whole_exclude_each_other(world, capsys):
    assert main(["explain", "trace.json", "--brief", "--full"]) == 2
    assert "cannot be brief and whole" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "meant"), [("htm", "html"), ("md", "markdown"), ("sarf", "sarif"), (".txt", "text")])
def test_another_name_of_a_format_is_told_ours(world, capsys, word, meant):
    assert main(["explain", "trace.json", "--format", word]) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_json_on_stdout_is_the_document_and_nothing_else(world, capsys):
    assert main(["explain", "trace.json", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["schema_version"] == "1.0"
    assert captured.err == ""


@pytest.mark.parametrize(("codes", "said"), [(set(), True), ({"ID001"}, False)])
def test_a_deeper_look_that_adds_nothing_is_told(world, capsys, monkeypatch, codes, said):
    monkeypatch.setattr("analyzer.hta.deepen.concerned", lambda analysis: codes)
    assert main(["explain", "trace.json", "--deep"]) == 0
    assert ("--deep adds nothing here" in capsys.readouterr().err) is said
    main(["explain", "trace.json"])
    assert capsys.readouterr().err == ""


def test_force_color_colours_a_pipe(world, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["explain", "trace.json"])
    assert "\x1b[1m" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "begins"), [("r.json", "{"), ("r.txt", "trace.json.gz")])
def test_output_file_takes_the_format_of_its_ending(world, tmp_path, name, begins):
    target = tmp_path / name
    assert main(["explain", "trace.json", "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith(begins)
    assert os.listdir(tmp_path) == [name]


def test_output_file_is_replaced_whole_and_survives_a_failed_run(world, tmp_path):
    target = tmp_path / "r.txt"
    target.write_text("before")
    world.answer = UnreadableTraceError("not a trace")
    assert main(["explain", "trace.json", "-o", str(target)]) == 3
    assert target.read_text() == "before"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "report.pdf"], "names no format"),
        (["-o", "."], "the report's name is a folder"),
        (["-o", "nowhere/report.txt"], "does not exist"),
        (["--steps", "5-3"], "--steps 3-5"),
        (["--steps", "x"], "no range of steps"),
        (["--steps"], "see `advisor explain --help`"),
        (["--config", "nowhere.toml"], "name the file, or go without it"),
        (["--select", "DL009"], "Did you mean DL00"),
        (["--ignore", "no-worker"], "Did you mean no-workers"),
        (["--select", ","], "names no rule"),
        (["--fail-on", "huge"], "huge"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_told_before_the_trace_is_read(world, capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "trace.json", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("advisor: error: ")
    assert says in captured.err
    assert captured.out == ""
    assert world.asked == []


def test_report_never_replaces_the_trace(world, capsys, tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text("{}")
    assert main(["explain", str(trace), "-o", str(trace)]) == 2
    assert trace.read_text() == "{}"


def test_codes_are_prefixes_names_and_any_case(world):
    main(["explain", "t.json", "--select", "dl,hidden-sync", "--ignore", "DL002", "--steps", "3-5"])
    options = world.asked[0][1]
    assert options.select == ("DL001", "DL002", "SY001")
    assert options.ignore == ("DL002",)
    assert options.steps == (3, 5)


@pytest.mark.parametrize(
    ("build", "fail_on", "code"),
    [
        (analyses.example, None, 0),
        (analyses.example, "high", 1),
        (analyses.healthy, "low", 0),
        (analyses.unusable, None, 4),
        (analyses.unusable, "high", 4),
    ],
)
def test_exit_code(world, capsys, build, fail_on, code):
    world.answer = build()
    gate = ["--fail-on", fail_on] if fail_on else []
    assert main(["explain", "trace.json", "--plain", *gate]) == code
    assert capsys.readouterr().out


def _all_ran(**changes):
    """An example of which no check crashed."""
    checks = tuple(check for check in analyses.example().checks if check.state != "crashed")
    return analyses.example(checks=checks, **changes)


def test_a_gate_is_not_passed_where_a_check_crashed(world, capsys):
    world.answer = analyses.example(findings=())
    assert main(["explain", "t.json", "--fail-on", "high"]) == 70
    assert "the gate is not passed: a check crashed\n  where: PG003" in capsys.readouterr().err
    assert main(["explain", "t.json"]) == 0
    # What fails it fails it.
    world.answer = analyses.example()
    assert main(["explain", "t.json", "--fail-on", "high"]) == 1


def test_gate_counts_higher_severities_only(world):
    world.answer = _all_ran(findings=analyses.example().findings[2:3])  # one medium
    assert main(["explain", "t.json", "--fail-on", "high"]) == 0
    assert main(["explain", "t.json", "--fail-on", "medium"]) == 1
    assert main(["explain", "t.json", "--fail-on", "low"]) == 1


def test_untrusted_trace_as_json_is_written_and_explained_on_stderr(world, capsys):
    world.answer = analyses.unusable()
    assert main(["explain", "trace.json", "--format", "json"]) == 4
    captured = capsys.readouterr()
    assert json.loads(captured.out)["trust"]["verdict"] == "unusable"
    assert "launches have no kernel" in captured.err


def test_unreadable_trace_is_a_message_without_traceback(world, capsys):
    world.answer = UnreadableTraceError("not a trace \x1b[31m", where="byte 12", why="it is a PNG", fix="give a trace")
    assert main(["explain", "trace.json"]) == 3
    error = capsys.readouterr().err
    assert error == "advisor: error: not a trace \\x1b[31m\n  where: byte 12\n  why: it is a PNG\n  fix: give a trace\n"


def test_a_bug_is_called_one(world, capsys):
    world.answer = ZeroDivisionError("division by zero")
    assert main(["explain", "trace.json"]) == 70
    error = capsys.readouterr().err
    assert "this is a bug in advisor (ZeroDivisionError: division by zero)" in error
    assert "ADVISOR_TRACEBACK=1" in error
    assert "Traceback" not in error


def test_traceback_on_demand(world, capsys, monkeypatch):
    monkeypatch.setenv("ADVISOR_TRACEBACK", "1")
    world.answer = ZeroDivisionError()
    assert main(["explain", "trace.json"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_interrupt(world, capsys):
    world.answer = KeyboardInterrupt()
    assert main(["explain", "trace.json"]) == 130


@pytest.fixture
def screen(monkeypatch):
    """A terminal UI that only says it was opened, on a pretended terminal."""
    opened = []
    stub = types.ModuleType("analyzer.tui.app")
    stub.run = lambda paths, options, baseline, ahead=None, config=None, engine=None: opened.extend(paths) or 0
    monkeypatch.setitem(sys.modules, "analyzer.tui.app", stub)
    monkeypatch.setattr("analyzer.cli.streams.terminal.is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("CI", raising=False)
    return opened


def test_terminal_opens_the_screen(world, screen):
    assert main(["explain", "t.json"]) == 0
    assert len(screen) == 1


def test_the_screen_reads_ranks_as_it_was_asked_to(screen, tmp_path, monkeypatch):
    engines = []
    sys.modules["analyzer.tui.app"].run = lambda *arguments: engines.append(arguments[-1]()) or 0
    paths = [str(path) for path in RanksJob(dp=2, steps=2).run().write(tmp_path)]
    assert main(["explain", *paths, "--jobs", "2"]) == 0
    assert main(["explain", *paths, "--scheduler", "tcp://127.0.0.1:9"]) == 0
    assert [type(engine) for engine in engines] == [ProcessesEngine, ClusterEngine]


def test_a_baseline_opens_the_screen_too(world, screen):
    assert main(["explain", "t.json", "--baseline", "main"]) == 0
    assert len(screen) == 1


@pytest.mark.parametrize("arguments", [["--plain"], ["--format", "text"], ["--fail-on", "high"], ["-o", "-"]])
def test_asking_for_a_document_opens_no_screen(world, screen, arguments):
    main(["explain", "t.json", *arguments])
    assert screen == []


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TERM", "unknown"), ("CI", "true")])
def test_no_screen_where_nobody_could_use_it(world, screen, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    main(["explain", "t.json"])
    assert screen == []


@pytest.mark.skipif(os.name == "nt", reason="consoles of Windows have no TERM, and show screens")
def test_no_screen_on_a_terminal_without_a_name(world, screen, monkeypatch):
    monkeypatch.delenv("TERM")
    main(["explain", "t.json"])
    assert screen == []


def test_without_textual_the_text_is_printed(world, screen, monkeypatch, capsys):
    class Missing:
        def __getattr__(self, name):
            raise ModuleNotFoundError("No module named 'textual'", name="textual")

    monkeypatch.setitem(sys.modules, "analyzer.tui.app", Missing())
    assert main(["explain", "t.json"]) == 0
    captured = capsys.readouterr()
    assert "DataLoader has no workers" in captured.out
    assert "needs textual" in captured.err


@pytest.mark.parametrize(("text", "span"), [(None, None), ("4", (4, 4)), ("3-5", (3, 5)), (" 0-0 ", (0, 0))])
def test_steps(text, span):
    assert settings.parse_steps(text) == span


@pytest.mark.parametrize("text", ["", "-", "3-", "-3", "a-b", "1-2-3", "٣", "9" * 30])
def test_no_steps(text):
    with pytest.raises(UsageError):
        settings.parse_steps(text)


def test_narrow_encoding_gets_ascii(world, monkeypatch, tmp_path):
    with open(tmp_path / "out", "w", encoding="latin-1") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert main(["explain", "t.json"]) == 0
    text = (tmp_path / "out").read_bytes()
    assert text.isascii()
    assert b"412 ms -> 148 ms a step" in text


def test_the_configuration_of_the_folder_counts(world, tmp_path, monkeypatch):
    (tmp_path / "advisor.toml").write_text('ignore = ["SY"]\n[rules.DL001]\nshare_ratio = 0.2\n')
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "trace.json"]) == 0
    ((_, options),) = world.asked
    assert options.ignore == ("SY",)
    assert options.limits == {"DL001": {"share_ratio": 0.2}}
    main(["explain", "trace.json", "--isolated"])
    assert msgspec.structs.replace(world.asked[-1][1], calibrated=()) == Options(cached=True)


def test_a_mistake_in_the_configuration_is_wrong_usage(world, tmp_path, capsys):
    config = tmp_path / "advisor.toml"
    config.write_text("selct = []\n")
    assert main(["explain", "trace.json", "--config", str(config)]) == 2
    assert "did you mean 'select'?" in capsys.readouterr().err
    assert world.asked == []


def test_an_accepted_finding_fails_no_gate(world):
    example = _all_ran()
    findings = tuple(msgspec.structs.replace(finding, accepted="on purpose") for finding in example.findings)
    world.answer = msgspec.structs.replace(example, findings=findings)
    assert main(["explain", "trace.json", "--fail-on", "low"]) == 0


def test_without_a_trace_a_terminal_offers_the_newest(world, screen, monkeypatch, tmp_path):
    for name, second in (("a.pt.trace.json", 1), ("b.pt.trace.json", 2)):
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (second, second))
    monkeypatch.chdir(tmp_path)
    offered = []
    stub = types.ModuleType("analyzer.tui.pick")
    stub.pick = lambda paths: offered.extend(paths) or paths[1]
    monkeypatch.setitem(sys.modules, "analyzer.tui.pick", stub)
    assert main(["explain"]) == 0
    assert [path.name for path in offered] == ["b.pt.trace.json", "a.pt.trace.json"]
    assert [path.name for path in screen] == ["a.pt.trace.json"]
    assert main(["explain", "--plain"]) == 2


def test_picking_nothing_opens_nothing(world, screen, monkeypatch, tmp_path):
    stub = types.ModuleType("analyzer.tui.pick")
    stub.pick = lambda paths: None
    monkeypatch.setitem(sys.modules, "analyzer.tui.pick", stub)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    assert main(["explain", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    assert screen == []


def test_a_general_finding_goes_with_the_accepted_ones_that_explain_it(world):
    example = _all_ran()
    explained = next(finding for finding in example.findings if finding.explained_by)
    own = [finding for finding in example.findings if finding.id in explained.explained_by]
    kept = (explained, *(msgspec.structs.replace(finding, accepted="on purpose") for finding in own))
    world.answer = msgspec.structs.replace(example, findings=kept)
    assert main(["explain", "trace.json", "--fail-on", "low"]) == 0
    world.answer = msgspec.structs.replace(example, findings=(explained, *own))
    assert main(["explain", "trace.json", "--fail-on", "low"]) == 1


def test_accepting_the_last_of_a_chain_settles_all_that_it_explains(world):
    """As our own sample has it, of which one card is shown: small data, loaded sample by sample."""
    example = _all_ran()
    explained_by = {"DL001-1": ("DL002-1", "DL007-1"), "DL002-1": ("DL007-1",), "DL007-1": ("DL006-1",), "DL006-1": ()}

    def chain(accepted):
        return tuple(
            msgspec.structs.replace(
                example.findings[0],
                id=one,
                severity="high",
                explained_by=by,
                accepted="so" if one == accepted else None,
            )
            for one, by in explained_by.items()
        )

    for accepted, code in (("DL006-1", 0), ("DL007-1", 1), (None, 1)):
        world.answer = msgspec.structs.replace(example, findings=chain(accepted))
        assert main(["explain", "trace.json", "--fail-on", "high"]) == code


@pytest.mark.parametrize(("days", "code"), [(1, 0), (0, 0), (-1, 1)])
def test_an_acceptance_ends_with_its_day(world, tmp_path, capsys, days, code):
    day = datetime.date.today() + datetime.timedelta(days=days)
    config = tmp_path / "advisor.toml"
    config.write_text(f'[[accept]]\nid = "DL001-6d1f"\nreason = "on purpose"\nuntil = {day.isoformat()}\n')
    example = _all_ran()

    def answer(path, options, progress=None, decoder=None):
        accepted = options.accepted.get("DL001-6d1f")
        finding = msgspec.structs.replace(example.findings[0], id="DL001-6d1f", explained_by=(), accepted=accepted)
        return Explained(msgspec.structs.replace(example, findings=(finding,)))

    sys.modules["analyzer.explain"].analyse_with_facts = answer
    assert main(["explain", "trace.json", "--config", str(config), "--fail-on", "low"]) == code
    assert ("is no longer accepted" in capsys.readouterr().err) is (code == 1)
