"""What a comparison leaves for the calibration: a pair only where one finding vanished, and the step tells what that gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.calibration.pairs import Pair
from analyzer.calibration.store import own
from analyzer.calibration.taken import of_comparison
from analyzer.cli.streams import remembering
from analyzer.compare.comparison import Comparison, compare
from showing.snapshots import finding, snapshot

LOADER = finding("DL001", 4_000_000)
READ = finding("SY001", 2_000_000)
# What `snapshots.snapshot` says nothing of: its rule did not run.
UNSEEN = finding("XF001", 2_000_000)


def taken(comparison: Comparison) -> list[Pair]:
    return list(of_comparison(comparison, "2026-11-23", on_device=True))


def faster(
    step_ns: int = 7_000_000, *, before: tuple[object, ...] = (LOADER,), after: tuple[object, ...] = ()
) -> Comparison:
    first = snapshot(10_000_000, waterfall_ns={"compute": 6e6, "input": 4e6}, findings=before)  # type: ignore[arg-type]
    second = snapshot(step_ns, waterfall_ns={"compute": 6e6, "input": 1e6}, findings=after)  # type: ignore[arg-type]
    return compare([first], [second])


def test_one_finding_that_vanished_is_a_pair_of_what_it_stated_and_what_came() -> None:
    (pair,) = taken(faster())
    assert (pair.rule, pair.source, pair.date, pair.on_device) == ("DL001", "compare", "2026-11-23", True)
    assert pair.promised_ratio == pytest.approx(0.4, abs=0.01)
    assert pair.measured_ratio == pytest.approx(0.3, abs=0.02)
    assert 0 <= pair.noise_ratio < 0.1


def test_of_two_that_vanished_nobody_knows_which_gave_it() -> None:
    assert taken(faster(before=(LOADER, READ))) == []
    assert [pair.rule for pair in taken(faster(before=(LOADER, READ), after=(READ,)))] == ["DL001"]


def test_one_that_another_says_more_closely_is_no_second_one() -> None:
    general = finding("SY001", 4_000_000, explained_by=("DL001",))
    assert [pair.rule for pair in taken(faster(before=(LOADER, general)))] == ["DL001"]
    # What it has beyond may be what came.
    more = finding("SY001", 5_000_000, explained_by=("DL001",))
    assert taken(faster(before=(LOADER, more))) == []
    elsewhere = finding("SY001", 2_000_000, explained_by=("OP001",))
    assert taken(faster(before=(LOADER, elsewhere))) == []


def test_one_that_was_not_looked_for_again_may_have_given_it() -> None:
    assert taken(faster(before=(LOADER, UNSEEN))) == []


def test_a_finding_that_stays_is_no_pair() -> None:
    assert taken(faster(after=(LOADER,))) == []


def test_runs_that_nobody_can_tell_apart_are_no_pair() -> None:
    few = snapshot(10_000_000, 1, findings=(LOADER,))
    assert taken(compare([few], [snapshot(7_000_000, 1)])) == []


def test_a_step_that_got_longer_gave_nothing_rather_than_less_than_nothing() -> None:
    pairs = taken(faster(13_000_000))
    assert [pair.measured_ratio for pair in pairs] == [0.0]


def test_where_there_is_no_pair_nothing_is_said_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    remembering.keep(iter(()))
    assert "kept no pair" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    remembering.keep(taken(faster()))
    assert "kept 1 pair" in capsys.readouterr().err
    assert [pair.rule for pair in own()] == ["DL001"]
