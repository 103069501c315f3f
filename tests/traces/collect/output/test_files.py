"""A name never stands for half a file, and a place that cannot be written is told early."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from running.recorded import SAMPLES
from traces.collect.output.files import Spare, check_writable, write_atomically
from traces.errors import UsageError


def test_plain_and_compressed(tmp_path: Path) -> None:
    assert write_atomically(tmp_path / "t.json", b"{}") == 2
    assert (tmp_path / "t.json").read_bytes() == b"{}"
    write_atomically(tmp_path / "t.json.gz", b"{}")
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()) == b"{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.json", "t.json.gz"]


def test_what_is_compressed_depends_on_the_content_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"traceEvents": []}'
    for name, now in (("a.json.gz", 1e9), ("b.json.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        write_atomically(tmp_path / name, content)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_a_trace_is_packed_nearly_as_small_as_it_gets(tmp_path: Path) -> None:
    # The time that the smallest takes is spent at the end of a training that somebody waits for: about a tenth is let go for it.
    trace = gzip.decompress((SAMPLES / "baseline.json.gz").read_bytes())
    sizes = {level: len(gzip.compress(trace, level)) for level in (1, 9)}
    size = write_atomically(tmp_path / "t.json.gz", trace)
    assert sizes[9] < size < sizes[9] * 1.15 < sizes[1]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*t\.json") as caught:
        check_writable(tmp_path / "missing" / "t.json")
    assert caught.value.exit_code == 2


def test_a_missing_folder_is_not_taken_off_by_the_one_above(tmp_path: Path) -> None:
    """The system follows `missing/..` and finds nothing, so the trace could not be written there."""
    with pytest.raises(UsageError, match=r"cannot write .*t\.json"):
        check_writable(tmp_path / "missing" / ".." / "t.json")
    (tmp_path / "missing").mkdir()
    check_writable(tmp_path / "missing" / ".." / "t.json")


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


def test_what_has_no_room_lies_together_and_no_empty_folder_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks of one job were kept in a folder each."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spare = Spare()
    assert spare.keep("no/such/place.json", b"{}") is None
    assert list(tmp_path.iterdir()) == []
    assert [spare.keep(f"rank{rank}.json", b"{}") for rank in range(2)] == [
        (spare.folder / f"rank{rank}.json", 2) for rank in range(2) if spare.folder
    ]
    assert spare.keep("no/such/place.json", b"{}") is None
    assert [path.name for path in sorted(tmp_path.glob("*/*"))] == ["rank0.json", "rank1.json"]
