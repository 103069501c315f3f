"""A file that is written is what its name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.collect.output.files import check_writable
from traces.errors import UsageError
from traces.rewrite.writer import check_output


@pytest.mark.parametrize("name", ["t.json.zst", "t.json.bz2", "t.zip", "t.json.GZ", "t.json.Zst"])
def test_a_name_that_promises_another_compression_is_refused(tmp_path: Path, name: str) -> None:
    """Plain JSON was written into it, without a word."""
    for check in (check_writable, lambda path: check_output(path, tmp_path / "source.json")):
        with pytest.raises(UsageError, match="would not be what its name says") as caught:
            check(tmp_path / name)
        assert f"name it {Path(name).with_suffix('.gz')}" in str(caught.value)


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t", "t.txt", "t.trace"])
def test_any_other_name_is_taken(tmp_path: Path, name: str) -> None:
    check_writable(tmp_path / name)
    check_output(tmp_path / name, tmp_path / "source.json")
