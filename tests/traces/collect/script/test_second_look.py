"""A recording that is made once more: the better one of both keeps the name."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from traces.collect.script.session import ScriptConfig, Verdict, _Run


def _look(folder: Path, retries: int, steps: int, world_size: int = 1) -> None:
    """What the hook leaves of one recording; its number of steps tells it from another."""
    events = [{"name": f"ProfilerStep#{number}", "cat": "user_annotation"} for number in range(steps)]
    (folder / "raw-7.json").write_bytes(msgspec.json.encode({"traceEvents": events}))
    timing: dict[str, Any] = {"profiled_step_ns": 5, "unprofiled_step_ns": None}
    status = {
        "pid": 7, "rank": 0 if world_size > 1 else None, "world_size": world_size, "source": "optimizer", "problem": "",
        "counts": {"optimizer": 40}, "recorded": "raw-7.json", "recorded_steps": steps, "complete": True,
        "evidence": False, "torch": True, "retries": retries, "stacks_left_out": False, "first_step": 0, "advisor": timing,
        "steps": 40, "run": {"steps": 40, "between": {"places": [], "usual": {"places": []}}}, "lines": None,
    }  # fmt: skip
    (folder / "status-7.json").write_text(json.dumps(status))


def _steps(path: Path) -> int:
    return len(json.loads(path.read_bytes())["traceEvents"])


@pytest.mark.parametrize(
    ("verdicts", "steps", "kept"),
    [
        ((Verdict(True, again=True), Verdict(True)), (24, 6), 6),
        ((Verdict(True, again=True), Verdict(True, again=True)), (24, 24), 24),
        ((Verdict(True, again=True), Verdict(True, again=True)), (24, 2), 24),
        ((Verdict(True, again=True), Verdict(True)), (6, 2), 6),
        ((Verdict(False, again=True), Verdict(True)), (24, 2), 2),
        ((Verdict(True, again=True), Verdict(False, again=True)), (6, 24), 6),
        ((Verdict(False, again=True), Verdict(True, again=True)), (24, 6), 6),
        ((Verdict(True, again=True), Verdict(True), Verdict(True, again=True)), (6, 24, 12), 24),
    ],
)
def test_the_better_one_stays(tmp_path: Path, verdicts: tuple[Verdict, ...], steps: tuple[int, ...], kept: int) -> None:
    scratch, output = tmp_path / "scratch", tmp_path / "t.json"
    scratch.mkdir()
    left = iter(verdicts)
    run = _Run(ScriptConfig(target="a.py", output=output), lambda path: next(left), scratch)
    for retries, number in enumerate(steps):
        _look(scratch, retries, number)
        run.take(complete=True)
    (recording,) = run.result(0).recordings
    assert (recording.steps, _steps(output)) == (kept, kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch", "t.json"]


def test_a_second_look_goes_where_the_first_was_kept_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note went with the first recording: of a file among the temporary ones nobody was told why."""
    scratch, temporary = tmp_path / "scratch", tmp_path / "tmp"
    scratch.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    left = iter((Verdict(True, again=True), Verdict(True)))
    # A folder that is gone has as little room as a full one.
    run = _Run(ScriptConfig(target="a.py", output=tmp_path / "gone" / "t.json"), lambda path: next(left), scratch)
    for retries, number in enumerate((6, 12)):
        _look(scratch, retries, number)
        run.take(complete=True)
    (recording,) = run.result(0).recordings
    assert (recording.steps, _steps(recording.path)) == (12, 12)
    assert recording.path.parent.parent == temporary
    assert recording.not_there.startswith(f"cannot write {tmp_path / 'gone' / 't.json'}: ")


@pytest.mark.parametrize(("world_size", "usable", "word"), [(1, True, "again"), (2, True, "good"), (2, False, "again")])
def test_no_rank_records_other_steps_than_the_rest_for_a_doubt(
    tmp_path: Path, world_size: int, usable: bool, word: str
) -> None:
    run = _Run(
        ScriptConfig(target="a.py", output=tmp_path / "t.json"), lambda path: Verdict(usable, again=True), tmp_path
    )
    _look(tmp_path, 0, 6, world_size)
    run.take(complete=True)
    assert (tmp_path / "verdict-7.json").read_text() == word


@pytest.mark.parametrize(("asked", "left_out"), [(True, True), (False, False)])
def test_a_script_that_is_over_before_its_lines_were_looked_at_is_told_so(
    tmp_path: Path, asked: bool, left_out: bool
) -> None:
    config = ScriptConfig(target="train.py", output=tmp_path / "t.json", evidence=asked)
    run = _Run(config, lambda path: Verdict(True), tmp_path)
    _look(tmp_path, 0, 6)
    run.take(complete=False)
    [recording] = run.kept().values()
    assert recording.evidence_left_out is left_out


@pytest.mark.parametrize(("guarded", "option"), [(None, "--output"), (60.0, "--folder")])
def test_where_no_room_is_left_the_option_that_is_named_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guarded: float | None, option: str
) -> None:
    """`advisor tune` was told of an option of `advisor collect`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    config = ScriptConfig(target="train.py", output=tmp_path / "full" / "t.json", guarded=guarded)
    run = _Run(config, lambda path: Verdict(True), tmp_path)
    _look(tmp_path, 0, 6)
    run.take(complete=False)
    assert run.broken.startswith("cannot write")
    assert option in run.fix
