"""What is no script is named for what it is, before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from traces.collect.script.before import why_no_script


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_there_and_no_file_is_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "train.py").write_text("")
    assert why_no_script(tmp_path / "fifo.py") == "is a pipe or a device, not a script"
    assert why_no_script(tmp_path) == "is a folder, not a script"
    assert why_no_script(tmp_path / "none.py") == "does not exist"
    assert why_no_script(tmp_path / "train.py") is None
