"""Copies of a trace that slim, repair and annotate write: fit to be handed around unless asked otherwise."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.main import main
from building.builders import TraceBuilder
from running.recorded import SAMPLES

# Each is looked for in the copy, in the text that holds it.
PLANTED = {
    "hunter2": '{"password": "hunter2"}', "wandb-4711": "{'WANDB_KEY': 'wandb-4711'}", "letmein": "pwd=letmein",
    "mueller": "~mueller/data",
    "carol": "/home/carol/secret-project/x.py(3): go", "203.0.113.7": "connect 203.0.113.7", "170 1234567": "call +49 170 1234567",
    "4111 1111": "card 4111 1111 1111 1111", "d41d8cd98f": "key d41d8cd98f00b204e9800998ecf8427e", "node07": "on gpu-a100-node07",
    "bob@corp": "by bob@corp.example", "hpc.example": "login1.hpc.example.org", "ghp_a1B2": "ghp_" + "a1B2" * 9,
    "dora": "password%3Ddora%20", "fritz": "C:%5CUsers%5Cfritz%5Cx.py", "eyJwYXNz": "eyJwYXNzd29yZCI6ICJodW50ZXIyIn0=",
    "secondline": "password: |\n  secondline",
}  # fmt: skip
COMMANDS = (["slim"], ["slim", "--steps", "6-20"], ["repair"], ["annotate"])


def _trace(path: Path, text: str) -> Path:
    """A loop of 24 steps that waits for its loader, the text wherever a trace can hold one."""
    builder = TraceBuilder()
    for number in range(24):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.loader(at, 6_000)
        builder.launch(at + 6_000, kernel_start=at + 6_010, kernel_dur=3_900, name=f"kernel {text}")
        builder.op(
            f"aten::mul {text}",
            at + 7_000,
            5,
            **{"Concrete Inputs": ["", text, "[1, 2]"], "Call stack": f"{text};train.py(88): main"},
        )
        builder.op(
            "aten::add",
            at + 7_100,
            5,
            **{text: 1, "nested": {"a": [text]}, "password": "letmein hunter2 4111 1111 mueller"},
        )
        builder.python("train.py(88): main", at + 7_200, 50)
    document = builder.document()
    document["traceEvents"].append(
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": f"python {text}"}}
    )
    document |= {"host_name": text, "env": {"A": text}, "advisor": {"command": ["advisor", text]}}
    path.write_text(json.dumps(document))
    return path


def _copied(command: list[str], trace: Path, *more: str) -> str:
    output = trace.with_name("copy.json.gz")
    name, *options = command
    assert main([name, str(trace), *options, "-o", str(output), *more]) == 0
    return gzip.decompress(output.read_bytes()).decode()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_private_is_in_a_copy(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = _trace(tmp_path / "t.json", "; ".join(PLANTED.values()))
    copy = _copied(command, trace)
    assert [secret for secret in PLANTED if secret in copy] == []
    assert "host_name" not in copy
    # What advice is about is still there.
    assert "train.py(88): main" in copy
    assert "aten::mul" in copy
    said = capsys.readouterr().out
    assert "redacted: " in said
    assert "--no-redact keeps them" in said


@pytest.mark.parametrize("planted", PLANTED.items(), ids=lambda planted: planted[0])
def test_each_is_found_alone(planted: tuple[str, str], tmp_path: Path) -> None:
    secret, text = planted
    assert secret not in _copied(["repair"], _trace(tmp_path / "t.json", text))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_all_is_kept_where_that_is_asked_for(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "; ".join(PLANTED.values())
    copy = _copied(command, _trace(tmp_path / "t.json", text), "--no-redact")
    assert [secret for secret in PLANTED if secret not in copy] == []
    assert "host_name" in copy
    assert "redacted" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [["slim"], ["repair"], ["annotate"]], ids=" ".join)
def test_what_tells_nothing_stays_to_the_byte(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json.gz"
    trace.write_bytes((SAMPLES / "baseline.json.gz").read_bytes())
    whole, shown = _copied(command, trace, "--no-redact"), _copied(command, trace)
    assert "redacted" not in capsys.readouterr().out
    assert shown == whole


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"ts": "1700000000000.123"}, {"ts": "1700000000000.123"}), ({"id": "5500000000000004"}, {"id": "5500000000000004"}),
        ({"args": {"note": "5500000000000004"}}, {"args": {"note": "[redacted]"}}),
        ({"args": {"api_key": "short", "Stream": 7}}, {"args": {"api_key": "[redacted]", "Stream": 7}}),
        ({"args": {"key": "value", "shape": [[1, 2], "a"]}}, {"args": {"key": "[redacted]", "shape": [[1, 2], "a"]}}),
        ({"args": {"password": {"v": ["short"]}, "pin": 1}}, {"args": {"password": "[redacted]", "pin": 1}}),
        ({"args": {"password": 48151623, "key": None}}, {"args": {"password": "[redacted]", "key": None}}),
        ({"args": {"clientSecret": ["a", 1], "token": True}}, {"args": {"clientSecret": "[redacted]", "token": True}}),
        ({"pid": "078-05-1120", "tid": "4242.5e3"}, {"pid": "[redacted]", "tid": "4242.5e3"}),
        ({"bob@corp.example": 1}, {"[redacted]": 1}), ({"args": "bob@corp.example"}, {"args": "[redacted]"}),
        ({"args": None}, {"args": None}),
    ],
)  # fmt: skip
def test_one_event(told: dict[str, Any], kept: dict[str, Any]) -> None:
    from analyzer.report.redact import Project, cleaner
    from traces.rewrite.redaction import Redaction

    event = {"ph": "X", "name": "aten::add", **told}
    (shown,) = Redaction(cleaner(Project())).events([json.dumps(event).encode()])
    assert json.loads(shown) == {"ph": "X", "name": "aten::add", **kept}


def test_keys_that_may_stay_hold_nothing_private() -> None:
    from analyzer.report.redact import Project, cleaner
    from traces.rewrite.redaction import Redaction

    told = "by bob@corp.example"
    redaction = Redaction(cleaner(Project()))
    shown = redaction.top(
        {
            "displayTimeUnit": told,
            "cuda_runtime_version": told,
            "deviceProperties": [{"id": 0, "name": told, told: 1}, {"id": 1, "name": "NVIDIA H100 80GB HBM3"}],
            "distributedInfo": {"backend": told, "rank": 0},
            "schemaVersion": 1,
        }
    )
    assert shown == {
        "displayTimeUnit": "by [redacted]",
        "cuda_runtime_version": "by [redacted]",
        "deviceProperties": [
            {"id": 0, "name": "by [redacted]", "by [redacted]": 1},
            {"id": 1, "name": "NVIDIA H100 80GB HBM3"},
        ],
        "distributedInfo": {"backend": "by [redacted]", "rank": 0},
        "schemaVersion": 1,
    }
    assert redaction.texts == 4


def test_an_event_that_cannot_be_looked_through_is_left_out_and_counted() -> None:
    from traces.rewrite.redaction import Redaction

    redaction = Redaction(str)
    assert list(redaction.events([b'{"name": "a"', b'{"name": "b"}'])) == [b'{"name": "b"}']
    assert redaction.unread == 1


@pytest.mark.parametrize(("options", "told"), [([], True), (["--steps", "6-20"], False), (["--no-python"], False)])
def test_a_copy_of_everything_says_what_would_make_it_smaller(
    options: list[str], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = _trace(tmp_path / "trace.json", "gemm")
    assert main(["slim", str(trace), "-o", str(tmp_path / "copy.json.gz"), *options]) == 0
    assert ("every event was kept" in capsys.readouterr().err) is told
