"""A Dask cluster of real processes: the same job as here, also where a worker is killed; and what is said where there is none."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.main import main
from analyzer.job import explain_job
from analyzer.job.engines.cluster import ClusterEngine
from analyzer.options import Options
from analyzer.ranks.document import Job as MergedJob
from jobs.simulated import MS, Job
from running.recorded import ROOT
from traces.errors import UnreadableTraceError

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.slow,
    # Dask's own, of sockets and loops that its threads close later.
    pytest.mark.filterwarnings("ignore"),
]

FEW = Options(select=("CO",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("job")
    Job(dp=6, late_host={1: 8 * MS}, steps=3).run().write(made)
    return made


def told(folder: Path, engine: Any = None) -> MergedJob:
    job = explain_job(sorted(folder.iterdir()), FEW, engine=engine, only_first=True).first.analysis.job
    assert job is not None
    return job


@pytest.fixture(scope="module")
def here(folder: Path) -> MergedJob:
    return told(folder)


@contextlib.contextmanager
def processes(
    tmp_path: Path, workers: int, *, environment: dict[str, str] | None = None
) -> Iterator[tuple[Path, list[Any]]]:
    """`dask scheduler` and `dask worker` processes; the scheduler's file and the workers."""
    file = tmp_path / "scheduler.json"
    plain = dict(os.environ, PYTHONWARNINGS="ignore", DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="3")
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(file)],
        env=plain, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    started = [scheduler]
    try:
        until(file.is_file, 120)
        for _ in range(workers):
            started.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--scheduler-file",
                        str(file),
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--no-nanny",
                        "--local-directory",
                        str(tmp_path),
                    ],
                    env=plain | (environment or {}),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
            if workers:
                client.wait_for_workers(workers, timeout=180)
        yield file, started[1:]
    finally:
        for one in started:
            one.kill()
            one.wait()


def until(true: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


class KillingEngine:
    """Kills a worker as soon as the first rank is read."""

    def __init__(self, file: Path, pid: int) -> None:
        self.engine = ClusterEngine(scheduler_file=file)
        self.pid = pid

    def outcomes(self, *args: Any) -> Iterator[Any]:
        for number, one in enumerate(self.engine.outcomes(*args)):
            if number == 0:
                os.kill(self.pid, signal.SIGKILL)
            yield one


@pytest.mark.scripts
def test_processes_started_by_hand_give_the_same_job_and_a_killed_worker_loses_nothing(
    folder: Path, here: MergedJob, tmp_path: Path
) -> None:
    with processes(tmp_path, 2) as (file, workers):
        assert told(folder, ClusterEngine(scheduler_file=file)) == here
        assert told(folder, KillingEngine(file, workers[0].pid)) == here
        assert workers[0].wait(timeout=30) == -signal.SIGKILL
        assert main(["explain", str(folder), "--scheduler-file", str(file), "--brief", "--select", "CO"]) == 0


def test_a_local_cluster_gives_the_same_job(folder: Path, here: MergedJob) -> None:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        assert told(folder, ClusterEngine(cluster.scheduler_address)) == here


@pytest.mark.scripts
def test_one_of_three_workers_of_a_local_cluster_that_is_killed_loses_nothing(folder: Path, here: MergedJob) -> None:
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        file = folder.parent / "three.json"
        file.write_text(json.dumps({"address": cluster.scheduler_address}))
        killed = next(iter(cluster.workers.values())).pid
        assert told(folder, KillingEngine(file, killed)) == here
        until(lambda: not psutil.pid_exists(killed), 30)


def interrupted(folder: Path, pipe: Path, file: Path) -> None:
    """Ctrl-C while a worker waits for what comes through a pipe: the task is over, and so is the thread that it ran in."""
    os.mkfifo(pipe)
    program = "from analyzer.cli.entry import program; program()"
    paths = [*map(str, sorted(folder.iterdir())), str(pipe)]
    with (
        distributed.Client(scheduler_file=str(file), set_as_default=False) as client,
        subprocess.Popen(
            [sys.executable, "-c", program, "explain", *paths, "--scheduler-file", str(file), "--brief"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        ) as process,
    ):  # fmt: skip
        until(lambda: opened(pipe), 90)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == "advisor: interrupted"
        until(lambda: not any(client.run(lambda dask_worker: [*dask_worker.state.tasks]).values()), 30)
        assert not any(client.processing().values())


def opened(pipe: Path) -> bool:
    """Whether somebody reads from a pipe. Who has come and gone ends the wait of whoever reads: the end stays open."""
    try:
        os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    return True


@pytest.mark.scripts
def test_an_interrupt_ends_what_workers_started_by_hand_are_at(folder: Path, tmp_path: Path) -> None:
    with processes(tmp_path, 2) as (file, workers):
        interrupted(folder, tmp_path / "rank_9.json", file)
        assert [one.poll() for one in workers] == [None, None]


@pytest.mark.scripts
def test_an_interrupt_ends_what_workers_of_a_local_cluster_are_at(folder: Path, tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        file = tmp_path / "scheduler.json"
        file.write_text(json.dumps({"address": cluster.scheduler_address}))
        interrupted(folder, tmp_path / "rank_9.json", file)


@pytest.mark.scripts
def test_a_scheduler_that_goes_away_is_told(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "rank_9.json"
    os.mkfifo(pipe)
    program = "from analyzer.cli.entry import program; program()"
    paths = [*map(str, sorted(folder.iterdir())), str(pipe)]
    with processes(tmp_path, 1) as (file, _):
        gone = json.loads(file.read_text())
        with subprocess.Popen(
            [sys.executable, "-c", program, "explain", *paths, "--scheduler-file", str(file), "--brief"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        ) as process:  # fmt: skip
            until(lambda: opened(pipe), 90)
            kill_listening(int(gone["address"].rpartition(":")[2]))
            assert process.wait(timeout=60) == 3
            assert process.stderr is not None
            said = process.stderr.read()
    assert "the scheduler is gone" in said
    assert "Traceback" not in said


def kill_listening(port: int) -> None:
    """Ends the process of this test's own that was started to listen there."""
    for child in psutil.Process().children():
        if any(one.laddr.port == port and one.status == "LISTEN" for one in child.net_connections()):
            child.kill()


@pytest.mark.scripts
def test_workers_without_advisor_are_told(tmp_path: Path) -> None:
    # A worker whose Python knows nothing of advisor: its paths are cut to the standard library and Dask's own.
    hide = tmp_path / "sitecustomize.py"
    hide.write_text(
        "import importlib.metadata as m\n"
        "real = m.distribution\n"
        "def distribution(name):\n"
        "    if name == 'trace-advisor':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.distribution = distribution\n"
    )
    with (
        processes(tmp_path, 1, environment={"PYTHONPATH": str(tmp_path)}) as (file, _),
        pytest.raises(UnreadableTraceError, match="has no advisor"),
    ):
        list(ClusterEngine(scheduler_file=file).outcomes(["a.json"], FEW, lambda *_: None))


def test_a_scheduler_without_workers_is_told(tmp_path: Path) -> None:
    with processes(tmp_path, 0) as (file, _), pytest.raises(UnreadableTraceError, match="has no workers"):
        list(ClusterEngine(scheduler_file=file).outcomes(["a.json"], FEW, lambda *_: None))
