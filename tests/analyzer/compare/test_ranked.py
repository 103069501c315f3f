"""The test of Mann and Whitney gives what scipy gives, without its import."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.compare.ranked import mann_whitney

# Equal ones are common.
VALUES = st.lists(st.integers(1, 60), min_size=1, max_size=40)
DIFFERENT = st.lists(st.integers(1, 10**6), min_size=2, max_size=60, unique=True)


def by_scipy(first: list[int], second: list[int], method: str = "auto") -> tuple[float, float]:
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(first, second, alternative="two-sided", method=method)
    # Since 1.18 it gives no probability where all values are equal; 1 before, as nothing speaks for a difference.
    same = len({*first, *second}) == 1
    return float(found.statistic), 1.0 if same else float(found.pvalue)


def ours(first: list[int], second: list[int], *, exact: bool = False) -> tuple[float, float]:
    found = mann_whitney(np.array(first, dtype=float), np.array(second, dtype=float), exact=exact)
    return found.statistic, found.p_value


# scipy is imported within the first example.
@pytest.mark.slow
@settings(deadline=None)
@given(VALUES, VALUES)
def test_it_is_what_scipy_says(first: list[int], second: list[int]) -> None:
    assert ours(first, second) == pytest.approx(by_scipy(first, second), rel=1e-9)


@settings(deadline=None)
@given(DIFFERENT, st.data())
def test_orders_are_counted_as_scipy_counts_them(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    first, second = values[:cut], values[cut:]
    assert ours(first, second) == pytest.approx(by_scipy(first, second), rel=1e-9)
    assert ours(first, second, exact=True) == pytest.approx(by_scipy(first, second, "exact"), rel=1e-7)


def test_few_beside_very_many() -> None:
    import scipy

    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14):
        pytest.skip("this scipy counts ten thousand numbers beside four one way after the other: minutes")
    many = list(range(0, 20_000, 2))
    first = [15_001, 16_001, 17_001, 18_001]
    assert ours(first, many) == pytest.approx(by_scipy(first, many), rel=1e-9)


def test_a_comparison_does_not_import_the_statistics_of_scipy() -> None:
    code = (
        "import sys; from analyzer.compare.noise import judge_change\n"
        "judge_change([[10.0, 11, 12, 13, 14, 15]], [[20.0, 21, 22, 23, 24, 25]])\n"
        "judge_change([[10.0, 11, 12]] * 4, [[20.0, 21, 22]] * 4)\n"
        "print('scipy.stats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
