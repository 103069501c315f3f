"""Cases that once broke a property, some new ones, and that the fuzzer sees what it looks for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
FOUND = sorted((HERE / "found").glob("*.json"))


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


seeds, mutated, properties = module("fuzz_seeds").seeds(), module("mutations").mutated, module("properties")


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_once_broke_holds(path: Path, tmp_path: Path) -> None:
    case = tmp_path / "case.json"
    case.write_bytes(path.read_bytes())
    properties.Watch().check(case)


@pytest.mark.slow
def test_some_cases(tmp_path: Path) -> None:
    watch, path = properties.Watch(), tmp_path / "case.json"
    outcomes = set()
    for number in range(1, 40):
        path.write_bytes(mutated(seeds[number % len(seeds)], number))
        outcomes.add(watch.check(path, number))
    assert outcomes == {"explained", "refused"}


def test_a_number_names_a_case() -> None:
    cases = [mutated(seeds[0], number) for number in range(30)]
    assert cases == [mutated(seeds[0], number) for number in range(30)]
    assert len(set(cases)) > 20


def test_a_broken_property_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(seeds[0])
    properties.Watch().check(path, 1)

    def fail(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr("analyzer.facts.kernels.section.attention", fail)
    with pytest.raises(AssertionError, match="attention"):
        properties.Watch().check(path, 1)


# What stands in for atheris, for which not every Python has a wheel: it tells what was imported before it could look into it.
_ATHERIS = """
import contextlib, sys
@contextlib.contextmanager
def instrument_imports(include):
    print("before", sorted(name for name in sys.modules if name.split(".")[0] in include))
    yield
    print("then", *(f"{name}.{part}" in sys.modules for name, part in zip(include, ("reader", "facts", "data_loading"))))
"""


def test_coverage_is_taken_of_all_that_reads_and_explains(tmp_path: Path) -> None:
    (tmp_path / "atheris.py").write_text(_ATHERIS)
    found = os.pathsep.join(map(str, (tmp_path, HERE, HERE.parent, HERE.parents[1])))
    done = subprocess.run(
        [sys.executable, "-c", "import guided"], env=os.environ | {"PYTHONPATH": found}, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert done.stdout.splitlines() == ["before []", "then True True True"]
