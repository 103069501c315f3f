"""The digest of a file, found while the file is decoded."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from traces.progress import silent
from traces.reader.input.digest import digest
from traces.reader.input.source import Source
from traces.reader.mend.repairs import Repairs

SIZES = (0, 1, (1 << 20) - 1, 1 << 20, (3 << 20) + 7)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_of_every_byte(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(index % 251 for index in range(size)))
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        digest(tmp_path / "missing")


def test_a_file_is_not_read_to_its_end_for_its_head(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"traceEvents": [' + b" " * (1 << 22))
    with Source(path, silent, Repairs(path.name)) as source:
        assert next(source.blocks()).startswith(b'{"traceEvents"')


@pytest.mark.parametrize("packed", [False, True])
def test_reading_finds_the_digest_on_its_way_through_the_file(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "trace.json"
    text = b'{"traceEvents": [' + b" " * (3 << 20) + b"]}"
    path.write_bytes(gzip.compress(text) + bytes(100) if packed else text)
    read: list[int] = []
    with Source(path, lambda stage, done, total: read.append(done), Repairs(path.name)) as source:
        assert sum(map(len, source.blocks())) == len(text)
        assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read[-1] == path.stat().st_size
