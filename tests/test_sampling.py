"""A plain `pytest` runs each function; of many cases some, and nothing that takes seconds. What is named is run whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

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
    here = Path(__file__).parent
    pytester.makefile(
        ".toml",
        pyproject='[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = ["-m", "not other", "-p", "no:cacheprovider"]\n'
        f'pythonpath = ["{here.as_posix()}"]\nmarkers = ["slow", "other"]\n',
    )
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text((here / "conftest.py").read_text())
    (tests / "test_made.py").write_text(MADE)
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=ran, deselected=None)
