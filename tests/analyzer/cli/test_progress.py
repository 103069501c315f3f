"""The progress line: drawn late and taken away for a person, a few lines that stay in a log."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from analyzer.cli.streams.progress import ProgressLine
from running.recorded import SAMPLES
from running.signals import PROGRAM


def test_progress_is_drawn_late_and_taken_away(capsys, monkeypatch):
    monkeypatch.setattr("analyzer.cli.streams.progress.is_terminal", lambda stream: True)
    with ProgressLine(patience_s=60) as line:
        line("reading", 1, 2)
    assert capsys.readouterr().err == ""
    with ProgressLine(patience_s=0) as line:
        line("reading", 1, 2)
    drawn = capsys.readouterr().err
    assert "reading    [############------------]  50%" in drawn
    assert drawn.endswith("\r")


def test_progress_says_bytes_events_and_the_time_left(capsys, monkeypatch):
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr("analyzer.cli.streams.progress.is_terminal", lambda stream: True)
    monkeypatch.setattr("analyzer.cli.streams.progress.time.monotonic", lambda: next(clock))
    with ProgressLine() as line:
        line("reading", 0, 400_000_000)
        line.count_events(812_345)
        line("reading", 100_000_000, 400_000_000)
    assert "25%, 100 of 400 MB, 812,345 events, 30 s left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "drawn"),
    [
        ("60", "reading    [####------------]  25%, 100 of 400 MB"),
        ("30", "reading     25%, 100 of 400 MB"[:29]),
        ("9", "reading  "[:8]),
    ],
)
def test_progress_never_wraps(capsys, monkeypatch, columns, drawn):
    monkeypatch.setattr("analyzer.cli.streams.progress.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", columns)
    with ProgressLine(patience_s=0) as line:
        line("reading", 100_000_000, 400_000_000)
    _, first, *_ = capsys.readouterr().err.split("\r")
    assert first.startswith(drawn)
    assert len(first) < int(columns)


def test_progress_of_a_stream_has_no_end(capsys, monkeypatch):
    monkeypatch.setattr("analyzer.cli.streams.progress.is_terminal", lambda stream: True)
    with ProgressLine(patience_s=0) as line:
        line("reading", 12_000_000, 0)
    assert "reading ... 12 MB" in capsys.readouterr().err


def _at(monkeypatch, *seconds):
    clock = iter([0.0, *seconds])
    monkeypatch.setattr("analyzer.cli.streams.progress.time.monotonic", lambda: next(clock))


def test_a_log_hears_nothing_of_what_is_over_soon(capsys, monkeypatch):
    _at(monkeypatch, 0.5, 2.0, 4.0, 4.5)
    with ProgressLine() as line:
        line("reading", 1_000_000, 0)
        line("reading", 10_000_000, 20_000_000)
        line("reading", 16_000_000, 20_000_000)
        line("measuring", 0, 0)
    assert capsys.readouterr().err == ""


def test_a_log_hears_of_long_work_now_and_then(capsys, monkeypatch):
    _at(monkeypatch, 0.5, 1.5, 2.0, 11.0, 12.0, 30.0, 32.0)
    with ProgressLine() as line:
        for done in (2, 5, 6, 40, 45, 60, 70):
            line("reading", done * 1_000_000, 100_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "advisor: reading   5%, 5 of 100 MB, 19 s left",
        "advisor: reading  45%, 45 of 100 MB, 14 s left",
        "advisor: reading  70%, 70 of 100 MB, 14 s left",
    ]


def test_a_log_hears_which_item_of_many_it_is_and_what_is_left_of_all(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 40.0, 80.0])
    monkeypatch.setattr("analyzer.cli.streams.progress.time.monotonic", lambda: next(clock))
    with ProgressLine(items="preset") as line:
        for number, name in ((0, "slow-transform"), (4, "listed-samples"), (8, "per-parameter")):
            line(name, number, 40)
    assert capsys.readouterr().err.splitlines() == [
        "advisor: listed-samples  10%, 4 of 40 presets done, 360 s left",
        "advisor: per-parameter  20%, 8 of 40 presets done, 320 s left",
    ]


def test_a_log_hears_of_work_of_unknown_length_once_it_is_long(capsys, monkeypatch):
    _at(monkeypatch, 0.0, 2.0, 6.0)
    with ProgressLine() as line:
        for done in (1, 2, 60):
            line("reading", done * 1_000_000, 0)
    assert capsys.readouterr().err == "advisor: reading ... 60 MB\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot wait for a pipe")
def test_a_standard_input_that_is_silent_is_told_and_then_read():
    words = [sys.executable, "-c", PROGRAM, "explain", "-", "--plain"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"advisor: waiting for the standard input ...\n"
        said, complained = process.communicate((SAMPLES / "baseline.json.gz").read_bytes(), timeout=120)
    assert process.returncode == 0, complained
    assert b"standard input" in said


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_that_nobody_writes_into_is_told_and_then_read(tmp_path):
    pipe = tmp_path / "pipe.json.gz"
    os.mkfifo(pipe)
    words = [sys.executable, "-c", PROGRAM, "explain", str(pipe), "--plain"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "advisor: waiting for somebody to write into pipe.json.gz ...\n"
        pipe.write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
        said, complained = process.communicate(timeout=120)
    assert process.returncode == 0, complained
    assert "baseline" in said or "pipe.json.gz" in said
