"""Engines: all give the same job; what is wrong with a cluster, a URL or a file is said, and nothing is lost."""

from __future__ import annotations

import functools
import http.server
import json
import re
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analyzer.cli.main import advisor, main
from analyzer.job import explain_job
from analyzer.job.engines.choose import engine_for
from analyzer.job.engines.cluster import ClusterEngine
from analyzer.job.engines.local import HereEngine, ProcessesEngine, jobs_for
from analyzer.job.remote import fetched, listed, without_secrets
from analyzer.options import Options
from analyzer.ranks.document import Job as MergedJob
from jobs.simulated import MS, Job
from traces.errors import AdvisorError, UnreadableTraceError, UsageError

FEW = Options(select=("CO",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("job")
    Job(dp=4, late_host={1: 8 * MS}, steps=3).run().write(made)
    return made


def told(places: list[Any], engine: Any = None) -> MergedJob:
    job = explain_job(places, FEW, engine=engine, only_first=True).first.analysis.job
    assert job is not None
    return job


@pytest.fixture(scope="module")
def here(folder: Path) -> MergedJob:
    return told(sorted(folder.iterdir()))


@pytest.mark.slow
def test_processes_give_the_same_job(folder: Path, here: MergedJob) -> None:
    assert [(one.rank, one.cause) for one in here.late] == [(1, "host")]
    assert told(sorted(folder.iterdir()), ProcessesEngine(2)) == here


@pytest.mark.slow
def test_processes_start_behind_a_stand_in_for_standard_error(folder: Path) -> None:
    """The terminal UI puts one there that has no file number. In a process of its own: what they share is started only once."""
    program = (
        "import io, sys\n"
        "class Screen(io.StringIO):\n"
        "    def fileno(self):\n"
        "        return -1\n"
        "if __name__ == '__main__':\n"
        "    from analyzer.job.engines.local import ProcessesEngine\n"
        "    from analyzer.options import Options\n"
        "    said, sys.stderr = sys.stderr, Screen()\n"
        "    read = ProcessesEngine(2).outcomes(sys.argv[1:], Options(select=('CO',)), lambda *_: None)\n"
        "    print(sorted(one.place for one in read if one.summaries), sys.stderr is not said)\n"
    )
    script = folder.parent / "screen.py"
    script.write_text(program)
    ran = subprocess.run(
        [sys.executable, str(script), *sorted(map(str, folder.iterdir()))], capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[0, 1, 2, 3] True", "")


def test_as_many_processes_as_cores_and_memory_allow(tmp_path: Path) -> None:
    places = []
    for number in range(8):
        places.append(str(tmp_path / f"{number}.json"))
        Path(places[-1]).write_bytes(b" " * 10_000_000)
    assert jobs_for(places, cores=4, memory=10**12) == 4
    assert jobs_for(places, cores=64, memory=10**12) == 8
    assert jobs_for(places, cores=4, memory=500_000_000) == 2
    assert jobs_for(places, cores=4, memory=0) == 1
    assert jobs_for(places[:1], cores=4, memory=10**12) == 1


def test_little_work_is_done_here(folder: Path) -> None:
    assert isinstance(engine_for([str(path) for path in folder.iterdir()]), HereEngine)


def test_engines_exclude_one_another() -> None:
    with pytest.raises(UsageError):
        engine_for(["a"], jobs=2, scheduler="tcp://x:1")


def test_an_unreachable_scheduler_is_an_error_within_ten_seconds(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    assert main(["explain", str(folder), "--scheduler", "tcp://127.0.0.1:9", "--plain"]) == 3
    assert time.monotonic() - began < 60  # ten on a machine that does nothing else
    said = capfd.readouterr().err
    assert "the scheduler cannot be reached" in said
    assert "dask scheduler" in said


def test_a_scheduler_file_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="cannot be reached"):
        list(ClusterEngine(scheduler_file=folder / "none.json").outcomes(["a"], FEW, lambda *_: None))


class FakeClient:
    def __init__(self, versions: dict[str, str]) -> None:
        self.versions = versions

    def scheduler_info(self, **_: Any) -> dict[str, Any]:
        return {"workers": self.versions}

    def run(self, _: Any) -> dict[str, str]:
        return self.versions


@pytest.mark.parametrize(
    ("versions", "said"),
    [({}, "has no workers"), ({"tcp://a": ""}, "has no advisor"), ({"tcp://a": "0.0.1"}, "has advisor 0.0.1")],
)
def test_workers_without_this_advisor_are_told(versions: dict[str, str], said: str) -> None:
    with pytest.raises(UnreadableTraceError, match=said):
        ClusterEngine("tcp://x:1")._check_workers(FakeClient(versions))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if "forbidden" in self.path:
            self.send_error(403)
        else:
            super().do_GET()


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def test_urls_give_the_same_job(server: str, folder: Path, here: MergedJob) -> None:
    urls = [f"{server}/{path.name}" for path in sorted(folder.iterdir())]
    found = told(urls)
    assert (found.late, found.what_if, found.ranks) == (here.late, here.what_if, here.ranks)


def test_a_missing_and_a_forbidden_url_are_unreadable_ranks(server: str, folder: Path) -> None:
    urls = [f"{server}/{path.name}" for path in sorted(folder.iterdir())[:2]]
    job = told([*urls, f"{server}/rank_2_gone.json", f"{server}/rank_3_forbidden.json?token=SECRET"])
    assert {(row.rank, row.state) for row in job.ranks} == {
        (0, "ok"),
        (1, "ok"),
        (2, "unreadable"),
        (3, "unreadable"),
    }
    reasons = {one.rank: one.reason for one in job.failed}
    assert "no such file" in reasons[2]
    assert "403" in reasons[3] or "forbidden" in reasons[3]
    assert "SECRET" not in json.dumps(list(reasons.values()))


def test_the_command_takes_urls(server: str) -> None:
    result = CliRunner().invoke(advisor, ["explain", f"{server}/rank_0.json", f"{server}/rank_1.json", "--plain"])
    assert result.exit_code == 0
    assert "2 of 4 ranks" in result.stdout


def test_what_a_client_of_a_store_raises_is_told_and_a_mistake_of_ours_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    def listing(error: Exception) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        filesystem = types.SimpleNamespace(ls=fail)
        monkeypatch.setattr("fsspec.core.url_to_fs", lambda place: (filesystem, "/runs"))
        listed("https://user:hush@example.org/runs")

    for error in (aiohttp.ClientPayloadError("https://user:hush@example.org"), TimeoutError(), RuntimeError("closed")):
        with pytest.raises(UnreadableTraceError, match="it cannot be fetched") as told:
            listing(error)
        assert "hush" not in str(told.value)
    with pytest.raises(ZeroDivisionError):
        listing(ZeroDivisionError())


@pytest.mark.parametrize(
    ("host", "why"),
    [("127.0.0.1:9", "Connection refused"), ("user:hush@nowhere.invalid", "not known|resol|Temporary failure")],
)
def test_a_server_that_does_not_answer_is_not_taken_for_a_file_that_is_missing(host: str, why: str) -> None:
    pytest.importorskip("aiohttp")
    with pytest.raises(UnreadableTraceError, match="cannot be reached") as told, fetched(f"http://{host}/x.json"):
        pass
    assert re.search(why, str(told.value.why))
    assert "hush" not in f"{told.value.where} {told.value.why}"


def test_a_store_whose_package_is_not_installed_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"class": "no_such_store.FileSystem", "err": "Install nostorefs to access it"}
    monkeypatch.setitem(pytest.importorskip("fsspec.registry").known_implementations, "nostore", known)
    with pytest.raises(UsageError, match="nostore:// URLs is not installed") as told:
        listed("nostore://runs/job")
    assert told.value.fix == "Install nostorefs to access it"


def test_what_is_read_most_needs_a_package_that_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"class": "no_such_store.FileSystem", "err": "Please install gcsfs"}
    monkeypatch.setitem(pytest.importorskip("fsspec.registry").known_implementations, "gs", known)
    with pytest.raises(UsageError, match="gs:// URLs is not installed") as told:
        listed("gs://runs/job")
    assert (told.value.why, told.value.fix) == ("Please install gcsfs", "pip install gcsfs")


def test_a_folder_of_a_store_without_a_trace_says_so(tmp_path: Path) -> None:
    """It was left out without a word, and the traces below the working folder were suggested."""
    pytest.importorskip("fsspec")
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(UsageError, match="holds no trace") as told:
        listed(f"file://{tmp_path}")
    assert told.value.where == f"file://{tmp_path}"
    (tmp_path / "rank0.json").write_text("{}")
    assert [name.rpartition("/")[2] for name in listed(f"file://{tmp_path}")] == ["rank0.json"]


def test_no_secret_of_a_url_is_shown() -> None:
    assert without_secrets("https://me:pw@host:1/a/b.json?sig=x#y") == "https://host:1/a/b.json"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://[", 2),
        ("https://me:SECRET@[/a.json?key=SECRET", 2),
        ("reference://SECRET@x/y.json", 2),
        ("dir://x/y.json", 2),
        ("ftp://me:SECRET@127.0.0.1:9/x.json", 3),
        ("zip://x.json", 3),
    ],
)
def test_what_no_store_can_open_is_told_in_words(url: str, code: int, tmp_path: Path) -> None:
    result = CliRunner().invoke(advisor, ["explain", url])
    assert isinstance(result.exception, AdvisorError)
    assert result.exception.exit_code == code
    # Not the words for a damaged disk.
    assert url.partition(":")[0] in (result.exception.where or "")
    assert "SECRET" not in str(result.exception)
