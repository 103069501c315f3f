"""What is no script is named for what it is, before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from traces.collect.script.before import check, script_meant, why_no_script
from traces.collect.script.config import ScriptConfig
from traces.errors import UsageError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_there_and_no_file_is_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "train.py").write_text("")
    assert why_no_script(tmp_path / "fifo.py") == "is a pipe or a device, not a script"
    assert why_no_script(tmp_path) == "is a folder, not a script"
    assert why_no_script(tmp_path / "none.py") == "does not exist"
    assert why_no_script(tmp_path / "train.py") is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [("train", "train.py"), ("trian.py", "train.py"), ("train.p", "train.py"), ("evaluate.py", None), ("data", None)],
)
def test_a_missing_script_may_be_the_one_beside_it(tmp_path: Path, name: str, meant: str | None) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data.py").write_text("")
    assert script_meant(tmp_path / name) == (tmp_path / meant if meant else None)
    assert script_meant(tmp_path / "absent" / name) is None
    with pytest.raises(UsageError) as caught:
        check(ScriptConfig(target=str(tmp_path / name), output=tmp_path / "t.json"))
    assert (f"did you mean {tmp_path / 'train.py'}?" == caught.value.fix) is (meant is not None)


@pytest.mark.parametrize("name", ["my trace.json", "my trace.json.gz", "my trace.json.older"])
def test_a_trace_in_place_of_a_script_is_no_script(tmp_path: Path, name: str) -> None:
    """Python ran it, and `the script never imported torch` was said, with exit code 0."""
    (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match="is no script, but what a recording is written to") as caught:
        check(ScriptConfig(target=str(tmp_path / name), output=tmp_path / "t.json"))
    assert f"advisor explain '{tmp_path / name}'" in (caught.value.fix or "")
