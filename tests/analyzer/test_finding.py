"""What a rule says where it has no finding."""

from __future__ import annotations

import pytest

from analyzer.finding import clear


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("zeroing takes 2.0 % of the step, below 2.0 %", "zeroing takes 2.0 % of the step, just below 2.0 %"),
        ("zeroing takes 1.9 % of the step, below 2.0 %", "zeroing takes 1.9 % of the step, below 2.0 %"),
        ("12 % of the step, below 2 %", "12 % of the step, below 2 %"),
        ("at most 5.0 % of the step, below 5.0 % in all", "at most 5.0 % of the step, just below 5.0 % in all"),
    ],
)
def test_a_value_that_rounds_to_its_limit_is_just_below(said: str, told: str) -> None:
    assert clear(said).reason == told
