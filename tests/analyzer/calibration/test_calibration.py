"""Pairs of promise and measurement: what ships, what is kept, what they say."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import msgspec
import pytest

from analyzer.calibration.pairs import Pair, records
from analyzer.calibration.shipped import PAGE, page, pairs_of, render
from analyzer.calibration.store import SHIPPED, keep, own, own_file, shipped
from analyzer.cli.main import main
from running.recorded import ROOT


def pair(rule: str, promised: float, measured: float, noise: float = 0.03) -> Pair:
    return Pair(
        rule=rule, source="tune", name="workers=2", promised_ratio=promised, measured_ratio=measured, noise_ratio=noise,
        date="2026-11-22",
    )  # fmt: skip


def test_a_record_counts_what_stayed_within_and_the_median() -> None:
    pairs = [pair("DL001", 0.5, 0.25), pair("DL001", 0.5, 0.52), pair("DL001", 0.5, 0.6), pair("OP001", 0.0, 0.1)]
    (found,) = records(pairs)
    assert (found.rule, found.pairs, found.within) == ("DL001", 3, 2)
    assert found.reached_ratio == pytest.approx(1.04)


def test_what_ships_is_the_zoos_own_table() -> None:
    assert shipped()
    assert SHIPPED.read_text("utf-8") == render((ROOT / "traces/README.md").read_text("utf-8"))


def test_the_table_of_all_pairs_is_written_by_its_command() -> None:
    text = (ROOT / "traces/README.md").read_text("utf-8")
    shown = PAGE.read_text("utf-8")
    assert shown == page(shown, text)
    rows = [line for line in shown.splitlines() if line.startswith("| ") and "%" in line]
    assert len(rows) > len(shipped()), "rows of several rules are shown, too"
    for one in shipped():
        (row,) = [line for line in rows if f"| {one.rule} | {one.name} |" in line]
        assert f"| {one.promised_ratio:.1%} | {one.measured_ratio:.1%} |" in row


def test_rows_of_several_rules_and_pages_without_the_table_give_none() -> None:
    head = "Written by `python tests/bench/zoo.py -o traces/README.md` on 2026-11-22: 2 cores\n"
    rows = "| one | DL004 | 23 ms | 84.0% | 85.0% | 85.0% | 7.5% |\n| two | DL001, DL002 | 20 ms | 82.5% | 88.3% | 84.0% | 4.2% |\n"
    assert [(one.rule, one.measured_ratio) for one in pairs_of(head + rows)] == [("DL004", 0.85)]
    assert list(pairs_of(rows)) == []


def test_pairs_are_kept_in_the_users_folder_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert list(own()) == []
    assert keep([pair("ZZ001", 0.5, 0.25)]) == 1
    with own_file().open("ab") as file:
        file.write(b"{cut")
    assert [one.rule for one in own()] == ["ZZ001"]
    assert main(["calibration"]) == 0
    shown = capsys.readouterr().out
    assert "ZZ001" in shown
    assert "50 %" in shown
    assert main(["calibration", "--forget"]) == 0
    shown = capsys.readouterr()
    assert "ZZ001" not in shown.out
    assert shown.err == f"advisor: {own_file()} is gone\n"
    assert not own_file().exists()
    assert main(["calibration", "--forget"]) == 0
    assert capsys.readouterr().err == "advisor: no pair of this machine was kept\n"


def test_a_pair_that_nobody_measured_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own_file().parent.mkdir(parents=True)
    sound = {
        "rule": "DL\x07\u202e", "source": "tune", "name": "", "date": "",
        "promised_ratio": 0.5, "measured_ratio": -0.25, "noise_ratio": 0.0,
    }  # fmt: skip
    wrong = [{"promised_ratio": 2}, {"measured_ratio": 1e300}, {"noise_ratio": -1}, {"rule": "X" * 5_000}]
    rows = [json.dumps(sound | change) for change in ({}, *wrong)]
    own_file().write_text("\n".join([*rows, "[" * 100_000, '{"rule": "\\ud800"}']))
    assert [pair.measured_ratio for pair in own()] == [-0.25]
    assert main(["calibration"]) == 0
    out = capsys.readouterr().out
    assert "1 of this machine" in out
    # Shown, not sent.
    assert r"DL\x07\u202e" in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own_file().parent.mkdir(parents=True)
    os.mkfifo(own_file())
    # Who reads it waits for this one, and would wait for ever without it.
    writer = threading.Timer(3.0, lambda: os.close(os.open(own_file(), os.O_RDWR | os.O_NONBLOCK)))
    writer.start()
    assert list(own()) == []
    assert writer.is_alive(), "the pipe was read"
    writer.cancel()


@pytest.mark.parametrize(
    "damaged", [b"[" * 100_000, b"\xff\x00", b'{"promised_ratio": NaN}', b'"' * 7, None], ids=range(5)
)
def test_a_line_that_cannot_be_read_is_left_out(
    damaged: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep([pair("ZZ001", 0.5, 0.25)])
    odd = damaged or json.dumps(msgspec.to_builtins(pair("ZZ001", 0.5, -1e300))).encode()
    with own_file().open("ab") as file:
        file.write(odd + b"\n")
    keep([pair("ZZ001", 0.5, 0.25)])
    assert len(list(own())) == 2


def test_what_promised_next_to_nothing_gives_no_share() -> None:
    assert list(records([pair("DL001", 5e-324, 1.0)])) == []
