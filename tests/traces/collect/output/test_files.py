"""A name never stands for half a file, and a place that cannot be written is told early."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from traces.collect.output.files import check_writable, write_atomically
from traces.errors import UsageError


def test_plain_and_compressed(tmp_path: Path) -> None:
    assert write_atomically(tmp_path / "t.json", b"{}") == 2
    assert (tmp_path / "t.json").read_bytes() == b"{}"
    write_atomically(tmp_path / "t.json.gz", b"{}")
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()) == b"{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.json", "t.json.gz"]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*t\.json") as caught:
        check_writable(tmp_path / "missing" / "t.json")
    assert caught.value.exit_code == 2


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path)


def test_a_full_disk_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "t.json").write_bytes(b"older")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        write_atomically(tmp_path / "t.json", b"newer")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"older"]
