"""A plain `pytest` runs each function; of many cases some, and nothing that takes seconds. What is named is run whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from nearby import beside
from sampling import FEW, spread

pytest_plugins = ["pytester"]
MADE = """
import pytest

@pytest.mark.parametrize("case", range(60))
def test_many(case): ...

@pytest.mark.parametrize("case", range(3))
def test_few(case): ...

@pytest.mark.slow
def test_long(): ...

@pytest.mark.parametrize("case", [pytest.param(one, marks=pytest.mark.other) for one in range(20)] + [20])
def test_marked(case): ...
"""

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _of_no_other_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of Git says its repository in the environment, and these tests have their own."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("many", [0, 1, FEW, FEW + 1, 36, 37, 1_000])
def test_some_of_many_are_first_last_and_those_between(many: int) -> None:
    some = spread(list(range(many)))
    assert len(some) == len(set(some)) == max(min(many, FEW), -(-many // 6))
    assert some == sorted(some)
    if some:
        assert (some[0], some[-1]) == (0, many - 1)
        assert max((after - before for before, after in pairwise(some)), default=0) <= 7


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ((), 10 + 3 + 1),
        (("--all-cases",), 60 + 3 + 1 + 1),
        (("tests/test_made.py",), 60 + 3 + 1 + 1),
        (("tests/test_made.py", "--some-cases"), 10 + 3 + 1),
        (("-k", "many"), 60),
        (("-m", "slow"), 1),
        (("-n", "2"), 10 + 3 + 1),
    ],
)
def test_what_is_run(pytester: pytest.Pytester, arguments: tuple[str, ...], ran: int) -> None:
    _project(pytester)
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=ran, deselected=None)


@needs_git
@pytest.mark.parametrize(
    ("changed", "arguments", "ran"),
    [
        ("analyzer/spans/steps.py", (), 65 + 14),
        ("analyzer/spans/steps.py", ("-m", "slow"), 1),
        ("tests/test_made.py", (), 65 + 14),
        ("traces/README.md", (), 2 * 14),
        ("tests/building/world.py", (), 2 * 65),
    ],
)
def test_what_changed_is_looked_at_closer(
    pytester: pytest.Pytester, changed: str, arguments: tuple[str, ...], ran: int
) -> None:
    _project(pytester)
    spans = pytester.path / "tests/analyzer/spans"
    spans.mkdir(parents=True)
    (spans / "test_spans.py").write_text(MADE)
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m begun"):
        _git(pytester, words)
    target = pytester.path / changed
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{target.read_text()}\n" if target.exists() else "")
    pytester.runpytest_subprocess("--changed-since", "HEAD", *arguments).assert_outcomes(passed=ran, deselected=None)


@needs_git
def test_a_commit_that_git_does_not_know_is_said(pytester: pytest.Pytester) -> None:
    _project(pytester)
    _git(pytester, "init -q")
    done = pytester.runpytest_subprocess("--changed-since", "nowhere")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*what changed since nowhere cannot be asked*"])


@pytest.mark.parametrize(
    ("changed", "looked_at"),
    [
        ("analyzer/facts/loops/find.py", ["tests/analyzer/facts"]),
        ("rules/idle/isolated_gaps.py", ["tests/rules/idle"]),
        ("tests/analyzer/tui/test_modes.py", ["tests/analyzer/tui/test_modes.py"]),
        ("tests/analyzer/tui/conftest.py", ["tests/analyzer/tui"]),
        ("tests/building/world.py", ["tests"]),
    ],
)
def test_a_file_has_its_tests(changed: str, looked_at: list[str]) -> None:
    root = Path(__file__).parents[1]
    assert [str(path.relative_to(root)) for path in beside([root / changed], root)] == looked_at


@pytest.mark.parametrize(
    "changed", ["README.md", "rules/README.md", ".ci/run", "pyproject.toml", "tests/bench/reader.py"]
)
def test_documents_and_what_is_of_no_package_have_tests_of_their_own(changed: str) -> None:
    here = Path(__file__).parent
    looked_at = list(beside([here.parent / changed], here.parent))
    assert looked_at == [here / "test_repository.py", here / "test_layers.py"]
    assert all(path.is_file() for path in looked_at)


def _project(pytester: pytest.Pytester) -> None:
    here = Path(__file__).parent
    pytester.makefile(
        ".toml",
        pyproject='[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = ["-m", "not other", "-p", "no:cacheprovider"]\n'
        f'pythonpath = ["{here.as_posix()}"]\nmarkers = ["slow", "other"]\n',
    )
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text((here / "conftest.py").read_text())
    (tests / "test_made.py").write_text(MADE)
    (pytester.path / ".gitignore").write_text("__pycache__\n/std*\n/runpytest-*\n")


def _git(pytester: pytest.Pytester, words: str) -> None:
    subprocess.run(["git", *words.split()], cwd=pytester.path, check=True)
