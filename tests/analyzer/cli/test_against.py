"""`advisor explain --baseline` where a document is written, run for real on built traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.cli.main import main
from showing.comparisons import write_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two traces, the first of which is the baseline `main`."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "before.json", step_us=10_000, wait_us=4_000)
    write_run(tmp_path / "after.json", step_us=6_000)
    assert main(["baseline", "save", "main", "before.json"]) == 0
    return tmp_path


@pytest.mark.parametrize("baseline", ["main", ".advisor/baselines/main.json", "before.json"])
def test_every_printed_document_says_what_changed(folder: Path, baseline: str) -> None:
    names = ["r.txt", "r.md", "r.html", "r.json"]
    assert main(["explain", "after.json", "--baseline", baseline, *(f"-o{name}" for name in names)]) == 0
    for name in names[:3]:
        text = " ".join((folder / name).read_text("utf-8").split())
        assert "10 ms → 6.0 ms a step (mean of 24 and 24 steps)" in text
        assert "confirmed: 4.0 ms faster" in text
    since = json.loads((folder / "r.json").read_text("utf-8"))["since"]
    assert (since["before_ns"], since["after_ns"], since["kind"]) == (10_000_000, 6_000_000, "faster")
    assert {rule["rule"]: rule["state"] for rule in since["rules"]}["DL001"] == "fixed"


def test_the_section_is_still_there_when_the_page_is_opened_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "after.json", "--baseline", "main", "-o", "r.html"]) == 0
    capsys.readouterr()
    assert main(["explain", "r.html", "--plain"]) == 0
    assert "Since baseline main  10 ms → 6.0 ms a step" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["after.json", "--baseline", "absent"], 2, "there is no baseline 'absent'"),
        (["after.json", "--baseline", "main", "-o", "r.svg"], 2, "svg has no place"),
        (["after.json", "before.json", "--baseline", "main"], 2, "not ranks of one job"),
        (["r.json", "--baseline", "main"], 2, "is a report"),
    ],
)
def test_what_cannot_be_compared_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    assert main(["explain", "after.json", "-o", "r.json"]) == 0
    assert main(["explain", *arguments]) == code
    assert says in capsys.readouterr().err


def test_a_rule_that_was_not_run_is_not_called_fixed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "after.json", "--baseline", "main", "--select", "SY", "--format", "json"]) == 0
    since = json.loads(capsys.readouterr().out)["since"]
    assert {rule["rule"]: rule["state"] for rule in since["rules"]}["DL001"] == "not checked"
