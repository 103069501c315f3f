"""The security page: every test it names is there, and what no other test holds."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli.main import main
from building.builders import TraceBuilder
from running.recorded import ROOT, SAMPLES

PAGE = (ROOT / ".github" / "SECURITY.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
# Ends at the first of what a program that talks to others, or has others work for it, cannot do without.
_WATCHED = """
import sys
def seen(event, arguments):
    # Numpy before 2.3 asks the system for its processor where scipy imports all of it.
    if event == "subprocess.Popen" and arguments[1] == ["lscpu"]:
        return
    talks = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
    if event.startswith((*talks, "subprocess.", "os.system", "os.exec", "os.posix_spawn")):
        print("FORBIDDEN", event, arguments, file=sys.stderr)
sys.addaudithook(seen)
from analyzer.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)), ids=str)
def test_every_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_every_promise_names_a_test_of_each_kind_of_stranger() -> None:
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert list(sections) == ["Traces", "Reports, copies and baselines", "Plug-ins", "Trials", "Servers"]
    for text in sections.values():
        rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| promise", "|---"))]
        assert rows
        assert all(re.search(r"\| `tests/[\w/]+\.py::test_\w+`", row) for row in rows)


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "{}", "--format", "json"], ["compare", "{}", "{}"], ["slim", "{}", "-o", "small.json"],
        ["annotate", "{}", "-o", "m.json"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_explaining_opens_no_socket_and_starts_no_program(words: list[str], tmp_path: Path) -> None:
    trace = str(SAMPLES / "baseline.json.gz")
    command = [sys.executable, "-c", _WATCHED, *(word.format(trace) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "FORBIDDEN" not in done.stderr


def test_the_watch_would_see_a_socket() -> None:
    talking = "import socket\ndef main(_): socket.socket().bind(('127.0.0.1', 0))"
    program = _WATCHED.replace("from analyzer.cli.main import main", talking)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert "FORBIDDEN socket.bind" in done.stderr


def test_a_baseline_holds_no_digest_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "score_for_AcmeBank"
    builder = TraceBuilder()
    for number in range(24):
        builder.step(number, number * 10_000, 10_000)
        builder.op(name, number * 10_000 + 10, 9_000)
    builder.write(tmp_path / "t.json")
    assert main(["baseline", "save", "main", "t.json"]) == 0
    stored = (tmp_path / ".advisor" / "baselines" / "main.json").read_text("utf-8")
    assert "Acme" not in stored
    for digest in ("md5", "sha1", "sha256", "blake2b"):
        assert hashlib.new(digest, name.encode()).hexdigest()[:8] not in stored
    assert json.loads(stored)["runs"][0]["left_out"]["ops"] == 1
