"""A team's own package of rules takes part like ours: listed, run, configured, explained."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from building.builders import TraceBuilder

PLUGIN = Path(__file__).parent / "example_plugin"


def advisor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line with the plug-in installed: its folder and its entry points are on the path."""
    installed = folder / "site"
    metadata = installed / "team_rules-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: team-rules\nVersion: 1.0\n")
    # The table of its pyproject.toml, as an installer writes it.
    (metadata / "entry_points.txt").write_text("[advisor.rules]\nteam = team_rules:RULES\n")
    path = os.pathsep.join([str(installed), str(PLUGIN), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "analyzer.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def trace(folder: Path) -> Path:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=99_000)
    return builder.write(folder / "trace.json")


@pytest.mark.slow
def test_it_is_listed_and_has_a_page(tmp_path: Path) -> None:
    assert "TM001" in advisor(tmp_path, "rules").stdout
    assert "Mean duration of the used steps" in advisor(tmp_path, "rule", "TM001").stdout


@pytest.mark.slow
def test_it_fires_and_can_be_configured(tmp_path: Path) -> None:
    path = str(trace(tmp_path))
    fired = advisor(tmp_path, "explain", path, "--select", "TM", "--format", "json")
    assert "A step takes 100 ms, the budget is 50 ms." in fired.stdout, fired.stderr
    (tmp_path / "advisor.toml").write_text("[rules.TM001]\nbudget_ns = 200e6\n")
    clear = advisor(tmp_path, "explain", path, "--select", "TM", "--format", "json")
    assert "a step takes 100 ms, within 200 ms" in clear.stdout, clear.stderr


ENDS = "import sys\nfrom analyzer.rule import Rule, RuleMeta\n"


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        ("sys.exit(0)", 70, "'team' of the package team-rules 1.0 cannot be loaded: Ended: raised SystemExit(0)"),
        ("1 / 0", 70, "'team' of the package team-rules 1.0 cannot be loaded: ZeroDivisionError"),
        ("import no_such_module", 70, "'team' of the package team-rules 1.0 cannot be loaded: ModuleNotFoundError"),
        ("RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), lambda f, l: sys.exit(0), 'page'),)", 1, None),
        (
            "RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), lambda f, l: __import__('time').sleep(99), 'page'),)",
            1,
            None,
        ),
        (
            "__import__('os')._exit(0)",
            70,
            "'team' of the package team-rules 1.0 cannot be loaded: Ended: called os._exit(0)",
        ),
        (
            "RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), lambda f, l: __import__('os')._exit(0), 'page'),)",
            1,
            None,
        ),
        ("RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), lambda f, l: sys.stdout.close(), 'page'),)", 1, None),
    ],
)
def test_one_that_misbehaves_is_named_and_turns_no_gate_green(
    tmp_path: Path, source: str, code: int, says: str | None
) -> None:
    builder = TraceBuilder()
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 60_000)
        builder.launch(at + 60_000, kernel_start=at + 60_010, kernel_dur=39_000)
    builder.write(tmp_path / "trace.json")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(ENDS + source)
    (tmp_path / "advisor.toml").write_text("rule-seconds = 3\n")
    done = advisor(tmp_path, "explain", "trace.json", "--plain", "--fail-on", "high")
    assert done.returncode == code, done.stderr
    assert "this is a bug in advisor" not in done.stderr
    if says is None:
        assert "TM001" in done.stdout
        assert "in the package team_rules: " in done.stdout
        assert ("did not come back within 3 s" in " ".join(done.stdout.split())) is ("sleep" in source)
    else:
        assert says in done.stderr


SAYS = """
from analyzer.finding import clear

def check(facts, limits):
    print("in a rule", flush=True)
    yield clear("fine")

print("at import")
RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), check, 'page'),)
"""


def test_what_one_prints_stands_in_no_document(tmp_path: Path) -> None:
    path = str(trace(tmp_path))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(ENDS + SAYS)
    done = advisor(tmp_path, "explain", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {one["state"] for one in json.loads(done.stdout)["checks"] if one["rule"] == "TM001"} == {"clear"}
    assert "at import\nin a rule\n" in done.stderr


CHANGES_FOLDER = """
import os
from analyzer.finding import clear

def check(facts, limits):
    os.chdir("/")
    yield clear("fine")

os.chdir("/")
RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), check, 'page'),)
"""


def test_one_that_changes_the_folder_changes_no_path(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(ENDS + CHANGES_FOLDER)
    done = advisor(tmp_path, "explain", "trace.json", "-o", "report.json")
    assert done.returncode == 0, done.stderr
    assert {one["state"] for one in _checks(tmp_path) if one["rule"] == "TM001"} == {"clear"}


def _checks(folder: Path) -> list[dict[str, str]]:
    checks: list[dict[str, str]] = json.loads((folder / "report.json").read_text())["checks"]
    return checks


GOES_ON = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from analyzer.finding import clear

def check(facts, limits):
    threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
    ThreadPoolExecutor(1).submit(time.sleep, 600)
    yield clear("fine")

RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), check, 'page'),)
"""


@pytest.mark.slow
def test_nobody_waits_for_threads_that_one_leaves(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(ENDS + GOES_ON)
    # Ended by the limit of time where it waits for them.
    done = advisor(tmp_path, "explain", "trace.json", "-o", "report.json")
    assert done.returncode == 0, done.stderr
    assert {one["state"] for one in _checks(tmp_path) if one["rule"] == "TM001"} == {"clear"}


ENDS_LATER = """
import os, threading, time
from analyzer.finding import clear

def later():
    time.sleep(0.05)
    os._exit(0)

def check(facts, limits):
    threading.Thread(target=later, daemon=True).start()
    yield clear("fine")

def slow(facts, limits):
    time.sleep(1)
    yield clear("fine")

RULES = (
    Rule(RuleMeta('TM001', 'n', 'sync', 't'), check, 'page'),
    Rule(RuleMeta('TM002', 'm', 'sync', 't'), slow, 'page'),
)
"""


@pytest.mark.slow
def test_a_thread_that_one_leaves_does_not_end_the_program(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(ENDS + ENDS_LATER)
    done = advisor(tmp_path, "explain", "trace.json", "-o", "report.json")
    assert done.returncode == 0, done.stderr
    states = {one["rule"]: one["state"] for one in _checks(tmp_path)}
    assert (states["TM001"], states["TM002"]) == ("clear", "clear")


@pytest.mark.slow
def test_a_gate_is_not_passed_where_the_check_that_would_fail_it_crashed(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "team_rules.py").write_text(
        ENDS + "RULES = (Rule(RuleMeta('TM001', 'n', 'sync', 't'), lambda f, l: 1 / 0, 'page'),)"
    )
    gate = ["explain", "trace.json", "-o", "report.json", "--fail-on", "high"]
    done = advisor(tmp_path, *gate)
    assert done.returncode == 70, done.stderr
    assert "the gate is not passed: a check crashed\n  where: TM001" in done.stderr
    assert "--ignore TM001" in done.stderr
    assert {one["state"] for one in _checks(tmp_path) if one["rule"] == "TM001"} == {"crashed"}
    assert advisor(tmp_path, *gate, "--ignore", "TM001").returncode == 0
    # Without a gate it is a line of the report.
    assert advisor(tmp_path, *gate[:-2]).returncode == 0


def test_its_entry_point_is_the_one_it_declares() -> None:
    declared = (PLUGIN / "pyproject.toml").read_text()
    assert '[project.entry-points."advisor.rules"]\nteam = "team_rules:RULES"' in declared
