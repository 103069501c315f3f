"""What changed, in words: a finding that is new beside a shorter step need not be of the change's making."""

from __future__ import annotations

import pytest

from analyzer.analysis.changes import RuleState
from analyzer.page.changes import of_shorter_steps


@pytest.mark.parametrize(
    ("before", "after", "states", "told"),
    [
        (100, 40, ("fixed", "new"), True),
        (100, 40, ("fixed", "still"), False),
        (100, 90, ("new",), False),
        (100, 140, ("new",), False),
        (None, 40, ("new",), False),
    ],
)
def test_new_findings_of_a_much_shorter_step_may_be_old_ones(
    before: float | None, after: float, states: tuple[RuleState, ...], *, told: bool
) -> None:
    assert ("may have been there before" in of_shorter_steps(before, after, states)) is told
