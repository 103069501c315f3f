"""What a run of a script leaves, and what of an earlier run may no longer lie in its place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.main import main
from traces.collect.script.config import Recording, ScriptConfig, ScriptResult, Verdict
from traces.collect.script.outputs import Outputs
from traces.collect.script.session import _untouched
from traces.errors import UsageError

MB = 1_000_000


def _outputs(output: Path, compress_from: int | None = None) -> Outputs:
    return Outputs(ScriptConfig(target="train.py", output=output, compress_from=compress_from))


def _said(pid: int = 1, rank: int | None = None, world: int = 1, **more: Any) -> dict[str, Any]:
    counts = {"optimizer": 0, "loader": 0, "forward": 0}
    return {"pid": pid, "rank": rank, "world_size": world, "torch": True, "problem": "", "counts": counts} | more


def test_ranks_lie_in_one_folder(tmp_path: Path) -> None:
    outputs = _outputs(tmp_path / "trace.json.gz")
    names = [outputs.name(_said(pid, rank=pid, world=2), MB) for pid in (0, 1)]
    assert names == [tmp_path / "trace" / "rank0.json.gz", tmp_path / "trace" / "rank1.json.gz"]
    plain = _outputs(tmp_path / "plain")
    assert plain.name(_said(rank=0, world=2), MB) == tmp_path / "plain.ranks" / "rank0.json"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("a file")
    with pytest.raises(UsageError, match="cannot make the folder"):
        _outputs(tmp_path / "trace.json").name(_said(rank=0, world=2), MB)


def test_processes_without_ranks_are_numbered(tmp_path: Path) -> None:
    outputs = _outputs(tmp_path / "t.json")
    assert [outputs.name(_said(pid), MB).name for pid in (7, 8, 7)] == ["t.json", "t.2.json", "t.json"]


@pytest.mark.parametrize(
    ("size", "compress_from", "name"),
    [(30 * MB, 20 * MB, "t.json.gz"), (10 * MB, 20 * MB, "t.json"), (30 * MB, None, "t.json")],
)
def test_a_large_recording_is_compressed_where_nobody_chose_its_name(
    tmp_path: Path, size: int, compress_from: int | None, name: str
) -> None:
    outputs = _outputs(tmp_path / "t.json", compress_from)
    assert outputs.name(_said(), size).name == name
    # A second look of another size replaces the first one.
    assert outputs.name(_said(), MB).name == name


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t/rank3.json"])
def test_an_older_file_is_not_left_to_be_taken_for_the_new_one(tmp_path: Path, name: str) -> None:
    old = tmp_path / name
    old.parent.mkdir(exist_ok=True)
    old.write_text("{}")
    outputs = _outputs(tmp_path / "t.json", 20 * MB)
    with outputs.older_set_aside():
        pass
    assert not old.exists()
    assert outputs.set_aside == [old.with_name(f"{old.name}.older")]
    assert outputs.set_aside[0].read_text() == "{}"


def test_one_that_was_replaced_is_gone_and_what_is_somebody_elses_stays(tmp_path: Path) -> None:
    old, other = tmp_path / "t.json", tmp_path / "t" / "notes.json"
    other.parent.mkdir()
    for path in (old, other):
        path.write_text("{}")
    outputs = _outputs(old)
    with outputs.older_set_aside():
        scratch = tmp_path / "new"
        scratch.write_text("[]")
        os.replace(scratch, old)
    assert (old.read_text(), other.read_text(), outputs.set_aside) == ("[]", "{}", [])


def test_it_is_set_aside_where_the_run_is_interrupted_too(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(KeyboardInterrupt), _outputs(tmp_path / "t.json").older_set_aside():
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["t.json.older"]


@pytest.mark.parametrize(
    ("said", "untouched"),
    [
        ([_said()], True),
        ([_said(torch=False)], True),
        ([_said(counts={"optimizer": 0, "loader": 0, "forward": 3})], False),
        ([_said(counts={"optimizer": 0, "loader": 1, "forward": 0})], False),
        ([_said(), _said(2, counts={"optimizer": 1, "loader": 0, "forward": 0})], False),
        ([_said(problem="a profiler of its own")], False),
        ([], False),
    ],
)
def test_what_ended_before_it_began(said: list[dict[str, Any]], untouched: bool) -> None:
    assert _untouched(said) is untouched


def test_help_ends_with_the_scripts_own_code_and_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import argparse\nargparse.ArgumentParser(prog='train').parse_args()\nimport torch\n")
    Path("trace.json").write_text(json.dumps({"traceEvents": []}))
    assert main(["collect", "train.py", "--", "--help"]) == 0
    said = capfd.readouterr()
    assert said.out.startswith("usage: train")
    assert "nothing was recorded: " in said.err
    assert "what lay there before is now trace.json.older" in said.err
    assert not Path("trace.json").exists()
    assert main(["collect", "train.py", "--", "--no-such-option"]) == 2


def test_several_ranks_get_one_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my trace"
    recordings = [
        Recording(folder / f"rank{rank}.json", 9, 6, MB, "optimizer", None, None, Verdict(usable=True))
        for rank in (0, 1)
    ]
    asked: list[ScriptConfig] = []

    def collected(config: ScriptConfig, judge: object, say: object) -> ScriptResult:
        asked.append(config)
        return ScriptResult(0, recordings, folder=folder)

    monkeypatch.setattr("traces.collect.script.session.collect_script", collected)
    assert main(["collect", "train.py"]) == 0
    assert main(["collect", "train.py", "-o", "t.json"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "next:" in line]
    assert lines == [f"advisor: next: advisor explain '{folder}'"] * 2
    assert [config.compress_from for config in asked] == [20 * MB, None]


@pytest.mark.parametrize(
    ("status", "untouched", "code"), [(0, False, 4), (0, True, 0), (3, False, 3), (3, True, 3)], ids=str
)
def test_where_nothing_is_recorded_the_code_is_the_scripts_own_or_says_so(
    status: int, untouched: bool, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = ScriptResult(status, [], problem="too few steps", fix="more", untouched=untouched)
    monkeypatch.setattr("traces.collect.script.session.collect_script", lambda config, judge, say: result)
    assert main(["collect", "train.py"]) == code
    assert "nothing was recorded: too few steps" in capsys.readouterr().err


def test_what_has_no_room_where_it_was_asked_for_is_kept_among_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    outputs = _outputs(tmp_path / "full" / "t.json")
    outputs.name(_said(), MB)
    assert outputs.kept_elsewhere(_said(), b"{}") is None, "there is no such folder either"
    (tmp_path / "tmp").mkdir()
    there = outputs.kept_elsewhere(_said(), b"{}")
    assert there is not None
    assert (there[0].read_bytes(), there[0].name, there[1]) == (b"{}", "t.json", 2)
    assert there[0].parent.parent == tmp_path / "tmp"
    assert outputs.name(_said(), MB) == there[0], "a second look replaces it there"


def test_several_ranks_that_have_no_room_are_named_by_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outputs = _outputs(tmp_path / "t.json")
    ranks = [_said(rank, rank=rank, world=2) for rank in range(2)]
    asked = [outputs.name(rank, MB) for rank in ranks]
    assert outputs.common_folder(asked) == tmp_path / "t"
    kept = [path for path, _ in filter(None, (outputs.kept_elsewhere(rank, b"{}") for rank in ranks))]
    assert [path.name for path in kept] == ["rank0.json", "rank1.json"]
    assert outputs.common_folder(kept) == kept[0].parent
    assert outputs.common_folder([asked[0], kept[1]]) is None
    assert outputs.common_folder(kept[:1]) is None


def test_a_notebook_is_no_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python runs one that is empty of `true` and `null` without a word."""
    book = tmp_path / "my book.ipynb"
    book.write_text('{"cells": []}')
    assert main(["collect", str(book)]) == 2
    assert f"jupyter nbconvert --to script '{book}'" in capsys.readouterr().err


def test_both_words_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("-h", "--help"):
        assert main(["collect", word]) == 0
        assert "-h, --help" in capsys.readouterr().out
