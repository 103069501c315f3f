"""What a command imports is most of what a small trace costs: other libraries are named, modules counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = """
import contextlib, io, json, sys
before = set(sys.modules)
from analyzer.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(sys.argv[1:])
print(json.dumps(sorted(set(sys.modules) - before)))
"""
OURS = {"analyzer", "traces", "rules"}
# pandas needs the last four; the progress line is rich's.
READING = {
    "click",
    "isal",
    "msgspec",
    "numpy",
    "pandas",
    "rich",
    "dateutil",
    "pytz",
    "tzdata",
    "six",
    "typing_extensions",
    *(() if sys.version_info >= (3, 11) else ("tomli",)),
}
SAMPLE = "traces/samples/baseline.json.gz"


@pytest.mark.parametrize(
    ("arguments", "libraries", "most"),
    [(["--help"], {"click"}, 150), (["explain", SAMPLE, "--format", "json"], READING, 1450)],
    ids=["help", "explain"],
)
def test_a_command_imports_what_it_needs(arguments: list[str], libraries: set[str], most: int) -> None:
    """80 and 1405 modules with Python 3.11, pandas 3.1; of the latter 794 are ours, seven of them for each rule."""
    run = subprocess.run([sys.executable, "-c", RUN, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(run.stdout)
    roots = {name.partition(".")[0] for name in modules}
    # What Cython and the build of Python leave are no libraries.
    others = {
        name for name in roots - sys.stdlib_module_names - OURS if not name.startswith("_") and "cython" not in name
    }
    assert others <= libraries
    assert len(modules) <= most
