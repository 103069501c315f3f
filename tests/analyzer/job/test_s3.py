"""Ranks in a store that speaks S3, started here: read where they lie; what is missing or forbidden is an unreadable rank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.cli.main import main
from analyzer.job import explain_job
from analyzer.job.engines.local import ProcessesEngine
from analyzer.options import Options
from analyzer.ranks.document import Job as MergedJob
from jobs.simulated import MS, Job

boto3 = pytest.importorskip("boto3")
s3fs = pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")
pytestmark = [
    pytest.mark.slow,
    # botocore's and the server's own.
    pytest.mark.filterwarnings("ignore"),
]

FEW = Options(select=("CO",))
_ALLOWED = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
_DENIED = {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::runs/job/rank_3.json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("job")
    Job(dp=4, late_host={1: 8 * MS}, steps=3).run().write(made)
    return made


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[str]:
    """The URL of a folder of four ranks, of which the last may not be read."""
    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "anybody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="runs")
        for path in folder.iterdir():
            s3.upload_file(str(path), "runs", f"job/{path.name}")
        iam = boto3.client("iam")
        iam.create_user(UserName="reader")
        policy = {"Version": "2012-10-17", "Statement": [_ALLOWED, _DENIED]}
        iam.put_user_policy(UserName="reader", PolicyName="p", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        patch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        s3fs.S3FileSystem.clear_instance_cache()
        # From now on every request has to be allowed.
        patch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
        yield "s3://runs/job"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def told(places: list[str], engine: ProcessesEngine | None = None) -> MergedJob:
    job = explain_job(places, FEW, engine=engine, only_first=True).first.analysis.job
    assert job is not None
    return job


def test_ranks_in_a_store_give_the_same_job(store: str, folder: Path) -> None:
    names = [f"rank_{rank}.json" for rank in range(3)]
    here = told([str(folder / name) for name in names])
    assert [(one.rank, one.cause) for one in here.late] == [(1, "host")]
    there = told([f"{store}/{name}" for name in names])
    assert (there.late, there.what_if, there.ranks) == (here.late, here.what_if, here.ranks)
    assert told([f"{store}/{name}" for name in names], ProcessesEngine(2)).ranks == here.ranks


def test_a_folder_of_a_store_is_explained_and_who_may_not_be_read_is_named(
    store: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", store, "--format", "json", "--select", "CO"]) == 0
    shown = capfd.readouterr()
    job = json.loads(shown.out)["job"]
    assert {(row["rank"], row["state"]) for row in job["ranks"]} == {
        (0, "ok"), (1, "ok"), (2, "ok"), (3, "unreadable")
    }  # fmt: skip
    ((rank, reason),) = ((one["rank"], one["reason"]) for one in job["failed"])
    assert rank == 3
    assert "forbidden" in reason
    assert (job["name"], job["late"][0]["rank"], job["late"][0]["cause"]) == ("job", 1, "host")


def test_what_is_missing_is_named_with_its_place(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    job = told([f"{store}/rank_0.json", f"{store}/rank_1.json", f"{store}/rank_7.json", "s3://nowhere/rank_8.json"])
    reasons = {one.rank: one.reason for one in job.failed}
    assert set(reasons) == {7, 8}
    assert all("no such file" in one for one in reasons.values())
    assert main(["explain", "s3://nowhere/job"]) == 3
    said = capfd.readouterr().err
    assert "s3://nowhere/job" in said
    assert "Traceback" not in said


def test_a_key_that_nobody_knows_is_forbidden_and_not_shown(
    store: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASTRANGER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "HUSH")
    s3fs.S3FileSystem.clear_instance_cache()
    assert main(["explain", store]) == 3
    said = capfd.readouterr().err
    assert "forbidden" in said
    assert "HUSH" not in said
    assert "AKIASTRANGER" not in said
    s3fs.S3FileSystem.clear_instance_cache()
