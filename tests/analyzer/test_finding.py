"""What a rule says where it has no finding, and what a saving keeps."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.finding import Saving, clear


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


def test_a_saving_with_another_figure_shortens_by_that() -> None:
    saving = Saving(kernel_ns=5)
    assert saving.shorter.unnamed_ns == saving.usually_shorter.unnamed_ns == 5
    other = msgspec.structs.replace(saving, usual_kernel_ns=2)
    assert (other.shorter.unnamed_ns, other.usually_shorter.unnamed_ns) == (5, 2)
