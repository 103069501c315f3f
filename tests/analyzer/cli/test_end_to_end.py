"""The real command in a process of its own, on a trace built in code."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import analyzer
from analyzer.report.schema import schema
from building.builders import TraceBuilder

ROOT = Path(analyzer.__file__).parents[1]
FORBIDDEN = ("textual", "torch", "hta", "torchvision")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("analyzer.explain") is None, reason="no analysis yet")


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Six steps of 100 ms on a GPU, of which the loader takes 40."""
    builder = TraceBuilder()
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 40_000)
        builder.launch(at + 50_000, kernel_start=at + 50_010, kernel_dur=45_000)
    return builder.write(tmp_path_factory.mktemp("trace") / "trace.json")


def advisor(*arguments: str, after: str = "") -> subprocess.CompletedProcess[str]:
    run = f"from analyzer.cli.main import main; code = main({list(arguments)!r})"
    code = f"import sys; {run}; {after or 'pass'}; sys.exit(code)"
    found = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": found}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120, check=False
    )


def test_json_follows_the_schema_and_imports_neither_ui_nor_torch(trace):
    from running.json_schema import jsonschema

    report = f"print([name for name in {FORBIDDEN!r} if name in sys.modules], file=sys.stderr)"
    done = advisor("explain", str(trace), "--format", "json", after=report)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "[]\n"
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert sum(part["ns"] for part in document["summary"]["waterfall"]) == document["summary"]["window_ns"]


@pytest.mark.slow
def test_text_names_the_loader(trace):
    done = advisor("explain", str(trace))
    assert done.returncode == 0, done.stderr
    assert "input wait" in done.stdout
    assert "DL001" in done.stdout


def test_missing_file_is_a_message(tmp_path):
    done = advisor("explain", str(tmp_path / "none.json"))
    assert done.returncode == 3
    assert done.stderr.startswith("advisor: error: ")
    assert "Traceback" not in done.stderr


def test_file_of_another_kind_is_a_message(tmp_path):
    picture = tmp_path / "trace.json"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    done = advisor("explain", str(picture))
    assert done.returncode == 3
    assert done.stderr.startswith("advisor: error: ")
