"""A file appears whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from traces.replacing import replacing


def test_the_name_stands_for_the_old_bytes_until_the_new_ones_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_it_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a") as file:
            file.write(b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices here")
def test_a_device_is_written_to_not_replaced() -> None:
    with replacing(Path("/dev/null")) as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "missing" / "a"):
        pass
