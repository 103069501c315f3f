"""`advisor tune` as a program: what it refuses and with which code, what it leaves, what an interrupt keeps."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.analysis.tuning import Tuning
from analyzer.cli.commands import tune
from analyzer.cli.main import main
from analyzer.tune import run_folder
from running.recorded import ROOT
from traces.collect.tune.trial import Script

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
SCRIPTS = ROOT / "tests/traces/collect/scripts"
# A loop whose baseline is recorded already: the sample, in which loading takes most of the step.
LOOP = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.ones(int(sys.argv[1]), 4))
for (batch,) in DataLoader(data, batch_size=1):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    time.sleep(0.002)
open("trained.txt", "w").write("all of it")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))
    (tmp_path / "train.py").write_text(LOOP)
    return tmp_path


def recorded_before(folder: Path, *arguments: str) -> None:
    """A run folder that ended after the recording."""
    about = tune.about()
    target = Script(target="train.py", arguments=arguments)
    with run_folder.opened(folder / "run", run_folder.runs_of(target, 0, about.machine, about.tool), resume=False):
        pass
    shutil.copy(ROOT / "traces/samples/baseline.json.gz", folder / "run" / "baseline.json")


@pytest.mark.parametrize(
    ("script", "words", "why"),
    [
        ("no_loop.py", (), "no loop was found"),
        # Whether it is recorded at all, as a while without steps, depends on how fast the machine is.
        pytest.param("stepless.py", (), "loop was found", marks=pytest.mark.scripts),
        ("plain.py", ("4",), "the script ended after 4 steps"),
        pytest.param("profiles.py", (), "profiler of its own", marks=pytest.mark.scripts),
        ("no_torch.py", (), "never imported torch"),
    ],
)
def test_what_cannot_be_tuned_is_refused_with_its_reason(
    script: str, words: tuple[str, ...], why: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", str(SCRIPTS / script), "--folder", "run", "--budget", "2", "--", *words]) == 4
    said = capsys.readouterr().err
    assert why in said
    assert "fix: " in said
    assert "Traceback" not in said


def test_a_script_that_writes_elsewhere_is_stopped_before_and_told_where(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = here.parent / f"{here.name}-models" / "last.pt"
    (here / "train.py").write_text(f"import torch, pathlib\npathlib.Path({str(place.parent)!r}).mkdir()\n" + LOOP)
    assert main(["tune", "train.py", "--folder", "run", "--", "4000"]) == 4
    assert f"stopped before it wrote {place.parent}" in capsys.readouterr().err
    assert not place.parent.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["absent.py"], "does not exist"),
        (["trian.py"], "did you mean train.py?"),
        (["python", "absent.py"], "the script absent.py does not exist"),
        (["sh", "train.py"], "the script sh is a program: a tuning runs a script in one process"),
        (["."], "is a folder"),
        ([""], "the name of the script is empty"),
        (["-m", ""], "the name of the script is empty"),
        ([], "no script is named"),
        (["train.py", "-o", "result.pdf"], "names no format"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(
    words: list[str], why: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *words]) == 2
    assert why in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["train.py"]


def test_an_earlier_run_is_not_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run").mkdir()
    (here / "run" / "runs.jsonl").write_text("")
    assert main(["tune", "train.py", "--folder", "run"]) == 2
    assert "--resume" in capsys.readouterr().err


def test_a_script_with_nothing_to_try_is_told_so_and_its_files_stay_away(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step that sleeps in the user's own code: no fix of that can be made from outside."""
    loop = LOOP.replace("DataLoader(data, batch_size=1)", "([row] for row in data.tensors[0])")
    # Where steps are short, passes of the garbage collector or the update are a part of one that can be changed from outside.
    (here / "train.py").write_text("import gc\ngc.disable()\n" + loop.replace("time.sleep(0.002)", "time.sleep(0.03)"))
    assert main(["tune", "train.py", "--folder", "run", "--", "4000"]) == 0
    out, err = capsys.readouterr()
    assert "nothing to try: no rule with an outside fix fired" in err
    assert "Nothing to try" in out
    assert sorted(path.name for path in here.iterdir()) == ["run", "train.py"]
    assert json.loads((here / "run" / "result.json").read_text())["trials"] == []


@pytest.mark.scripts
def test_an_interrupt_keeps_what_was_measured_and_says_so(here: Path) -> None:
    recorded_before(here, "200000")
    advisor = str(Path(sys.executable).parent / "advisor")
    with (here.parent / "said").open("w") as said:
        process = subprocess.Popen(
            [advisor, "tune", "train.py", "--folder", "run", "--resume", "--", "200000"],
            cwd=here, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            runs = here / "run" / "runs.jsonl"
            until(lambda: runs.exists() and runs.read_text().count("\n") >= 6)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
            process.wait()
    found = json.loads((here / "run" / "result.json").read_text())
    assert not found["complete"]
    assert found["baseline_step_ns"] > 2_000_000
    assert found["trials"]
    assert all(one["reason"] == "interrupted" for one in found["trials"] if one["verdict"] == "not run")
    assert "interrupted: what was measured is kept" in " ".join(found["notes"])
    assert sorted(path.name for path in here.iterdir()) == ["run", "train.py"]
    assert set(found) == set(Tuning.__struct_fields__)


@pytest.mark.scripts
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch on this machine")
def test_the_four_commands_of_the_readme(here: Path) -> None:
    """As they stand there, each behind the other; how much they bring is the machine's affair."""
    shown = (ROOT / "README.md").read_text("utf-8")
    block = next(part for part in shown.split("```") if part.strip().startswith("advisor tune slow_samples.py"))
    commands = [line.partition("   ")[0] for line in block.strip().splitlines()]
    assert len(commands) == 4
    shutil.copy(SCRIPTS / "slow_samples.py", here)
    before = (here / "slow_samples.py").read_text()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=here, env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert (here / "slow_samples.py").read_text() != before
    assert "promised" in done.stdout


def until(holds: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (("python", "train.py", "4"), Script(target="train.py", arguments=("4",), python=Path("python"))),
        (("python3", "-m", "train"), Script(target="train", module=True, python=Path("python3"))),
        (("train.py", "4"), Script(target="train.py", arguments=("4",))),
    ],
)
def test_who_names_python_too_names_the_interpreter(words: tuple[str, ...], script: Script, here: Path) -> None:
    """As `advisor collect` takes it; `the script python does not exist` was said."""
    assert tune._script(words, None, None) == script
