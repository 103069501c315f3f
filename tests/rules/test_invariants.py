"""What holds of every rule on its own world, said once: when the trace was recorded and by which process changes nothing."""

from __future__ import annotations

import pytest

from known.scenarios import OF_RANKS, RULE_BY_CODE, SCENARIOS, world
from rules import RULES
from running.one_rule import judged, renamed, shifted

# Microseconds: torch counts from the start of the machine, or from 1970.
LATER_US = 1e15


def test_every_rule_is_held_to_it() -> None:
    assert set(SCENARIOS) == {rule.meta.code for rule in RULES}


@pytest.mark.parametrize("code", sorted(set(SCENARIOS) - OF_RANKS))
def test_time_and_process_numbers_do_not_matter(code: str) -> None:
    plain = judged(RULE_BY_CODE[code], world(code))
    other = judged(RULE_BY_CODE[code], renamed(shifted(world(code), LATER_US), 1_000))
    assert other.finding.why == plain.finding.why
    assert (other.ns_per_step, other.identity) == (plain.ns_per_step, plain.identity)
    first, second = plain.finding.saving.claims, other.finding.saving.claims
    assert second.total_ns == first.total_ns
    assert len(second) == len(first)
