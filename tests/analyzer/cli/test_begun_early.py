"""Decoding begins before the configuration and the codes of rules are looked up, which imports all there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running.recorded import SAMPLES

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux copies a process safely")

# Prints for each process that was begun whether pandas was imported by then.
_EXPLAIN = """
import os, sys
import traces.reader.parallel.ahead as ahead
from traces.reader.cache import folder
folder.LEAST_BYTES = 0
ahead._cores = lambda: 2
real = os.fork
def fork():
    print("begun", "pandas" in sys.modules, flush=True)
    return real()
os.fork = fork
from analyzer.cli.main import main
for _ in range(int(sys.argv[1])):
    print("exit", main(["explain", *sys.argv[2:], "-o", os.devnull, "--format", "json"]), flush=True)
"""


def _said(tmp_path: Path, *arguments: str, times: int = 1) -> list[str]:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", _EXPLAIN, str(times), *arguments],
        capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120, check=True,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if line.startswith(("begun", "exit"))]


SAMPLE = str(SAMPLES / "cnn_workers2.json.gz")


@pytest.mark.parametrize("more", [(), ("--select", "DL"), ("--ignore", "DL001"), ("--config", "advisor.toml")])
def test_it_begins_before_rules_are_imported(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "advisor.toml").write_text('ignore = ["DL001"]\n')
    assert _said(tmp_path, SAMPLE, "--no-cache", *more) == ["begun False", "exit 0"]


def test_what_is_wrong_with_the_call_is_said_all_the_same(tmp_path: Path) -> None:
    assert _said(tmp_path, SAMPLE, "--no-cache", "--select", "nothing") == ["begun False", "exit 2"]


def test_nothing_begins_where_an_answer_may_be_kept(tmp_path: Path) -> None:
    assert _said(tmp_path, SAMPLE, "--isolated", times=2) == ["begun False", "exit 0", "exit 0"]


def test_nothing_begins_where_it_is_read_beside_others(tmp_path: Path) -> None:
    assert _said(tmp_path, SAMPLE, "--isolated", "--no-cache", "--baseline", SAMPLE) == ["exit 0"]
