"""Programs that start Python are recorded as they are: each process that trains, several ranks into one folder."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from traces.collect.script.launching import found, interpreted, is_program, launching, spoken_python
from traces.collect.script.session import ScriptConfig, ScriptResult, Verdict, collect_script
from traces.errors import UsageError

SCRIPTS = Path(__file__).parents[1] / "scripts"
GOOD = Verdict(usable=True)
# As the launchers of DeepSpeed, Lightning and accelerate start a rank: Python by its path, our environment, one that says the rank.
LAUNCHER = """
import os, subprocess, sys

started = [
    subprocess.Popen([sys.executable, "-u", *sys.argv[1:]], env=os.environ | {"RANK": str(rank), "WORLD_SIZE": "2"})
    for rank in range(2)
]
sys.exit(max(one.wait() for one in started))
"""
# Imports torch and trains nothing, as the processes do in which Inductor compiles.
HELPER = """
import subprocess, sys

subprocess.run([sys.executable, "-c", "import torch; print('helped', torch.zeros(1).item())"], check=True)
sys.argv = [sys.argv[1], *sys.argv[2:]]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""
LOOK = """
import os, sys
print([name for name in sys.modules if "advisor" in name or name == "torch"], os.environ["PYTHONPATH"].split(os.pathsep)[1:])
print([folder for folder in sys.path if "trace_advisor_hook" in folder], getattr(sys, "mine", None))
"""


def _collect(tmp_path: Path, target: str, *arguments: str, **options: Any) -> ScriptResult:
    config = ScriptConfig(target=target, arguments=arguments, output=tmp_path / "out" / "t.json", **options)
    (tmp_path / "out").mkdir(exist_ok=True)
    return collect_script(config, lambda path: GOOD)


def _written(tmp_path: Path) -> list[str]:
    return sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.json"))


@pytest.mark.scripts
def test_ranks_that_a_script_starts_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(LAUNCHER)
    result = _collect(tmp_path, str(tmp_path / "launch.py"), str(SCRIPTS / "plain.py"), "60", "5")
    assert result.status == 5
    assert _written(tmp_path) == ["t/rank0.json", "t/rank1.json"]
    assert result.folder == tmp_path / "out" / "t"
    assert {recording.source for recording in result.recordings} == {"optimizer"}


@pytest.mark.scripts
def test_a_rank_that_a_launcher_records_has_its_file_among_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `torchrun advisor collect train.py` does: each rank is recorded by a process of its own."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = _collect(tmp_path, str(SCRIPTS / "plain.py"), "60")
    assert (result.status, _written(tmp_path)) == (0, ["t/rank1.json"])
    assert result.folder == tmp_path / "out" / "t"


@pytest.mark.scripts
def test_ranks_below_a_shell_script_are_recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "launch.py").write_text(LAUNCHER)
    (tmp_path / "train.sh").write_text(f"#!/bin/sh\n{sys.executable} {tmp_path}/launch.py {SCRIPTS}/plain.py $1\n")
    assert is_program(str(tmp_path / "train.sh"), None)
    result = _collect(tmp_path, str(tmp_path / "train.sh"), "60", program=True)
    assert (result.status, _written(tmp_path)) == (0, ["t/rank0.json", "t/rank1.json"])
    said = capfd.readouterr()
    assert (said.out.count("trained 60 __main__ True"), said.err) == (2, "")


@pytest.mark.scripts
def test_ranks_of_torchrun_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = ("--nproc-per-node", "2", "--master-port", "29534", str(SCRIPTS / "distributed.py"))
    (tmp_path / "torchrun").write_text(f"#!{sys.executable}\nfrom torch.distributed.run import main\nmain()\n")
    (tmp_path / "torchrun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    result = _collect(tmp_path, "torchrun", *launch, program=True)
    assert (result.status, _written(tmp_path)) == (0, ["t/rank0.json", "t/rank1.json"])
    advisor = json.loads((tmp_path / "out/t/rank0.json").read_bytes())["advisor"]
    assert advisor["script"] == {
        "target": "torchrun", "arguments": ["--nproc-per-node", "2", "--master-port", "29534", "distributed.py"],
        "program": True,
    }  # fmt: skip
    assert advisor["command"] == ["advisor", "collect", "--", "torchrun", *advisor["script"]["arguments"]]


# Over before as many steps were recorded as are wanted, and out of its group by then.
SPAWNED = """
import os, torch, torch.distributed as dist

def train(rank):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29535"}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(30):
        model(torch.randn(8, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, nprocs=2)
"""


@pytest.mark.scripts
def test_spawned_ranks_that_left_their_group_early_are_of_one_job(tmp_path: Path) -> None:
    (tmp_path / "spawned.py").write_text(SPAWNED)
    result = _collect(tmp_path, str(tmp_path / "spawned.py"))
    assert (result.status, _written(tmp_path)) == (0, ["t/rank0.json", "t/rank1.json"])
    assert result.folder == tmp_path / "out" / "t"
    told = json.loads((tmp_path / "out/t/rank1.json").read_bytes())["advisor"]
    assert told["local_ranks"] == 2


@pytest.mark.scripts
def test_a_failing_rank_shows_its_own_traceback(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "launch.py").write_text(LAUNCHER)
    result = _collect(tmp_path, str(tmp_path / "launch.py"), str(SCRIPTS / "raises.py"))
    assert result.status == 1
    said = capfd.readouterr().err
    assert said.count("Traceback") == 2
    assert "trace_advisor_hook" not in said
    assert "runpy" not in said


@pytest.mark.scripts
def test_a_process_that_trains_nothing_leaves_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helped.py").write_text(HELPER)
    result = _collect(tmp_path, str(tmp_path / "helped.py"), str(SCRIPTS / "plain.py"), "60")
    assert (result.status, _written(tmp_path)) == (0, ["t.json"])
    assert capfd.readouterr().out.startswith("helped 0.0\n")


def test_a_process_without_torch_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import sys\nsys.mine = 'runs'\n")
    (tmp_path / "look.py").write_text(LOOK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    result = _collect(tmp_path, sys.executable, str(tmp_path / "look.py"), program=True)
    assert (result.status, result.recordings) == (0, [])
    assert capfd.readouterr().out == f"[] ['{tmp_path}/own']\n[] runs\n"
    assert result.problem.startswith(f"{sys.executable} started no Python program that imports torch")
    assert result.fix.startswith("name the script that trains")


@pytest.mark.slow
def test_settings_that_are_gone_disturb_nobody(tmp_path: Path) -> None:
    import subprocess

    environment = launching(str(tmp_path / "gone.json"), None)
    ran = subprocess.run(
        [sys.executable, "-c", "import torch; print(1)"], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_what_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, first in (
        ("a.py", "#!/bin/sh"),
        ("plain", "print(1)"),
        ("b", "#!/usr/bin/env python3"),
        ("c.sh", "#!/bin/bash -e"),
    ):
        (tmp_path / name).write_text(first + "\n")
    (tmp_path / "sh").mkdir()
    told = {
        name: is_program(name, None) for name in ("a.py", "plain", "b", "c.sh", "sh", "env", "none-such", "train.py")
    }
    assert [name for name, program in told.items() if program] == ["c.sh", "env"]
    assert interpreted(str(tmp_path / "c.sh")) == ["/bin/bash", "-e", str(tmp_path / "c.sh")]
    (tmp_path / "c.sh").chmod(0o755)
    assert interpreted(str(tmp_path / "c.sh")) == [str(tmp_path / "c.sh")]


def test_programs_of_the_environment_that_is_asked_for_come_first(tmp_path: Path) -> None:
    for name in ("python", "env"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert found("env", tmp_path / "python") == str(tmp_path / "env")
    assert found("env", None) != str(tmp_path / "env")
    assert launching("s.json", tmp_path / "python")["PATH"].split(os.pathsep)[0] == str(tmp_path)


def test_a_program_that_is_none_is_told_before(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none-such is no program") as told:
        _collect(tmp_path, "none-such", program=True)
    assert told.value.fix


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("python train.py --lr 3", ("train.py", False, ("--lr", "3"))),
        ("/env/bin/python3.11 -m pkg.train -x", ("pkg.train", True, ("-x",))),
        ("python -u train.py", None),
        ("python -c pass", None),
        ("python", None),
        ("torchrun train.py", None),
    ],
)
def test_python_by_its_name_is_what_it_runs(words: str, meant: Any) -> None:
    assert spoken_python(tuple(words.split())) == meant
