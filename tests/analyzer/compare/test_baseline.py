"""Baselines: saved whole, read back equal, and named errors for what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.compare.baseline import baseline_path, load_baseline, save_baseline
from analyzer.compare.snapshot import SNAPSHOT_VERSION
from showing.snapshots import snapshot
from traces.errors import UsageError


def test_round_trip(tmp_path: Path) -> None:
    runs = (snapshot(), snapshot(9_000_000))
    path = save_baseline("main", runs, tmp_path)
    assert load_baseline("main", tmp_path) == runs
    assert load_baseline(str(path)) == runs
    assert [item.name for item in tmp_path.iterdir()] == ["main.json"]


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 65, "nul\0"])
def test_a_name_cannot_leave_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        baseline_path(name, tmp_path)


def test_a_missing_one_names_those_there_are(tmp_path: Path) -> None:
    save_baseline("main", (snapshot(),), tmp_path)
    with pytest.raises(UsageError, match=r"saved in .*: main"):
        load_baseline("other", tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": "1.0", "name": 3, "runs": []}', b"\xff"])
def test_a_damaged_one_is_said_to_be(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "main.json").write_bytes(content)
    with pytest.raises(UsageError, match="damaged"):
        load_baseline("main", tmp_path)


def test_another_format_is_said_to_be(tmp_path: Path) -> None:
    path = save_baseline("main", (snapshot(),), tmp_path)
    path.write_text(
        path.read_text().replace(
            f'"version": "{SNAPSHOT_VERSION}",\n "name": "main"', '"version": "9.0",\n "name": "main"'
        )
    )
    with pytest.raises(UsageError, match=r"format 9\.0"):
        load_baseline("main", tmp_path)
