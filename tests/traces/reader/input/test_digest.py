"""The digest of a file, found while the file is decoded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from traces.progress import silent
from traces.reader.input.digest import DigestBeside, digest
from traces.reader.input.source import Source
from traces.reader.mend.repairs import Repairs

SIZES = (0, 1, (1 << 20) - 1, 1 << 20, (3 << 20) + 7)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_of_every_byte(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(index % 251 for index in range(size)))
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_is_not_needed_any_more_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(64 << 20))
    # Byte by byte it takes a minute.
    monkeypatch.setattr("traces.reader.input.digest._BLOCK_BYTES", 1)
    beside = DigestBeside(path)
    beside.stop()
    assert beside.result() != hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_cannot_be_opened_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        DigestBeside(tmp_path / "missing")


def test_a_file_is_not_read_to_its_end_for_its_head(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"traceEvents": [' + b" " * (1 << 22))
    with Source(path, silent, Repairs(path.name)) as source:
        assert next(source.blocks()).startswith(b'{"traceEvents"')
