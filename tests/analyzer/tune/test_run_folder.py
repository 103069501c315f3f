"""A run folder that something happened to: no time of another script is taken for one of this, and nothing measured is lost."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.collecting import for_tuning
from analyzer.cli.commands import tune
from analyzer.cli.main import main
from analyzer.tune import events
from analyzer.tune.bench import Bench
from analyzer.tune.run_folder import RECORDING, RUNS, SCRIPT, kept_words, opened, runs_of
from analyzer.tune.session import Wanted
from running.recorded import SAMPLES
from traces.collect.output.attached import is_whole
from traces.collect.tune.trial import Ran, Script
from traces.errors import UsageError

RUN = Ran(
    ending="measured",
    times_ns=(5,) * 20,
    step_ns=5.0,
    wall_s=1.0,
    calls={"loader": [{"file": "a", "line": 1, "name": "b"}]},
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, and a run folder in which it was tuned."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("pass\n")
    (tmp_path / "other.py").write_text("pass\n")
    about = tune.about()
    with opened(tmp_path / "run", runs_of(Script(target="train.py"), 0, about.machine, about.tool), resume=False):
        (tmp_path / "run" / RUNS).write_text(line())
    return tmp_path


def line(**changes: Any) -> str:
    return json.dumps({"key": "{}", "ran": asdict(RUN) | changes}) + "\n"


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["tune", "--folder", "run", "--resume", *words]) == 2
    said = capsys.readouterr().err
    assert "fix: " in said
    return said


def kept(folder: Path) -> list[Ran]:
    bench = Bench(Script(target="train.py"), folder, lambda *_: RUN, 1.0, 0, resume=True)
    return [ran for runs in bench.kept.values() for ran in runs]


def _changed(here: Path) -> None:
    (here / "train.py").write_text("pass  # other\n")


def _other_version(here: Path) -> None:
    path = here / "run" / SCRIPT
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tool": "0.0.1"}))


def _other_machine(here: Path) -> None:
    path = here / "run" / SCRIPT
    path.write_text(json.dumps(json.loads(path.read_text()) | {"machine": "96 cores, Linux x86_64"}))


@pytest.mark.parametrize(
    ("words", "change", "says"),
    [
        (["other.py"], lambda here: None, "of another script"),
        (["-m", "train"], lambda here: None, "of another script"),
        (["train.py", "--", "4"], lambda here: None, "of other arguments"),
        (["train.py", "--seed", "3"], lambda here: None, "of another seed: times of both"),
        (["train.py"], _changed, "why: it was changed since"),
        (["train.py"], _other_version, "there 0.0.1, now "),
        (["train.py"], _other_machine, "there 96 cores"),
        (["train.py"], lambda here: (here / "run" / SCRIPT).unlink(), "nothing says of which script"),
        (
            ["train.py"],
            lambda here: (here / "run" / SCRIPT).write_bytes(b'{"script": "tr'),
            "nothing says of which script",
        ),
    ],
)
def test_runs_of_something_else_are_not_gone_on_with(
    words: list[str], change: Callable[[Path], None], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(here)
    before = (here / "run" / RUNS).read_bytes()
    assert says in refused(words, capsys)
    assert (here / "run" / RUNS).read_bytes() == before


@pytest.mark.parametrize("name", ["runs.jsonl", "baseline.json", "script.json", "result.json", "changes.diff"])
def test_what_stands_in_the_way_is_told_before_anything_runs(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "run" / name).unlink(missing_ok=True)
    (here / "run" / name).mkdir()
    assert name in refused(["train.py"], capsys)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_place_of_the_runs_is_not_waited_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run" / RUNS).unlink()
    os.mkfifo(here / "run" / RUNS)
    assert "runs.jsonl is no file" in refused(["train.py"], capsys)


@pytest.mark.skipif(sys.platform == "win32", reason="no lock of a folder")
def test_two_tunings_at_once_do_not_share_a_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = tune.about()
    with opened(here / "run", runs_of(Script(target="train.py"), 0, about.machine, about.tool), resume=True):
        assert "another tuning works in run" in refused(["train.py"], capsys)


def test_a_folder_that_cannot_be_made_is_told_with_the_option_that_names_another(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("pass\n")
    now = runs_of(Script(target=str(tmp_path / "train.py")), 0, "m", "t")
    with (
        pytest.raises(UsageError, match="cannot make the folder") as told,
        opened(tmp_path / "train.py" / "run", now, resume=False),
    ):
        pass
    assert told.value.where == "--folder"


def test_a_folder_without_runs_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("pass\n")
    with opened(tmp_path / "run", runs_of(Script(target=str(tmp_path / "train.py")), 0, "m", "t"), resume=True):
        assert (tmp_path / "run" / SCRIPT).is_file()


@pytest.mark.parametrize(
    "changes",
    [
        {"times_ns": []}, {"times_ns": [5, 0]}, {"times_ns": [-5]}, {"times_ns": [10**30]}, {"step_ns": 0}, {"step_ns": -1.0},
        {"step_ns": 1e300}, {"lacked_ns": 6}, {"lacked_ns": -1}, {"setup_ns": 10**30}, {"wall_s": 1e300}, {"ending": "failed"},
        {"calls": {"loader": [{}]}}, {"calls": {"loader": [{"file": "a", "line": "b", "name": "c"}]}},
    ],
    ids=str,
)  # fmt: skip
def test_a_run_that_cannot_be_is_measured_again(changes: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / RUNS).write_text(line() + line(**changes))
    assert len(kept(tmp_path)) == 1


def test_a_run_behind_one_that_was_cut_is_kept(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_text(line() + line()[:50])
    bench = Bench(Script(target="train.py"), tmp_path, lambda *_: RUN, 60.0, 0, resume=True)
    bench.run({})
    bench.run({})
    assert len(kept(tmp_path)) == 2


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _turned(content: bytes) -> bytes:
    return content[:2000] + bytes([content[2000] ^ 0xFF]) + content[2001:]


@pytest.mark.parametrize("damaged", [lambda content: b"", _cut, _turned, gzip.decompress], ids=range(4))
def test_a_damaged_recording_is_made_again(
    damaged: Callable[[bytes], bytes], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (SAMPLES / "baseline.json.gz").read_bytes()
    recording = here / "run" / "baseline.json"
    recording.write_bytes(damaged(whole))
    expected = damaged is not gzip.decompress
    assert is_whole(recording) is not expected
    made: list[Path] = []

    def record(wanted: Wanted, trace: Path) -> None:
        made.append(trace)
        trace.write_bytes(whole)

    monkeypatch.setattr(for_tuning, "_record", record)
    heard: list[events.Event] = []
    for_tuning.recorded(Wanted(script=Script(target="train.py"), folder=here / "run", resume=True), heard.append)
    assert bool(made) is expected
    assert any("the recording is damaged" in str(one) for one in heard) is expected


def test_a_script_that_cannot_be_read_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        runs_of(Script(target=str(tmp_path / "absent.py")), 0, "m", "t")


def test_only_what_is_there_is_said_to_be_kept(tmp_path: Path) -> None:
    (tmp_path / RUNS).touch()
    assert kept_words(tmp_path) == "nothing was recorded or measured yet"
    (tmp_path / RECORDING).write_text("{}")
    assert kept_words(tmp_path).startswith("nothing was measured yet; the recording is kept in ")
    (tmp_path / RUNS).write_text("{}\n")
    assert kept_words(tmp_path).startswith("what was measured is kept in ")
