"""Commands that record, on a plain install: each says which package it lacks and how to get it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from traces.collect.needs import RECORDING, check_installed
from traces.errors import UsageError

# A name that is None in sys.modules cannot be imported, and is not found.
_WITHOUT = """
import importlib.util, sys
absent = {absent!r}
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in absent else find(name, *more)
sys.modules.update(dict.fromkeys(absent))
from analyzer.cli.main import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.parametrize("command", ["collect", "experiment", "zoo"])
@pytest.mark.parametrize("absent", [RECORDING, ("PIL",)], ids=["nothing", "all but PIL"])
def test_a_missing_package_is_told_with_its_remedy(command: str, absent: tuple[str, ...], tmp_path: Path) -> None:
    code = _WITHOUT.format(absent=absent, arguments=[command, "-o", str(tmp_path / "out")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2, done.stderr
    assert f"needs {absent[0]}, which is not installed here" in done.stderr
    # Packages, not the extra of a distribution: true of a checkout, a wheel and an index alike.
    names = " ".join({"PIL": "pillow"}.get(package, package) for package in absent)
    assert f"fix: pip install {names}\n" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_asked_for() -> None:
    check_installed("this", ("json",))
    with pytest.raises(UsageError) as caught:
        check_installed("this", ("json", "no_such_package"))
    assert caught.value.fix == "pip install no_such_package"
