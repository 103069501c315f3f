"""What the reader had to mend, as a reason for caution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.facts.health.symptom import Gravity, Symptom

if TYPE_CHECKING:
    from analyzer.facts import Facts


def check(facts: Facts) -> Iterator[Symptom]:
    """One symptom for all repairs together; the list itself stands under `repairs`."""
    repairs = facts.trace.repairs
    if repairs:
        total = sum(repair.count for repair in repairs)
        kinds = ", ".join(f"{repair.kind} ({repair.count:,})" for repair in repairs)
        yield Symptom(
            None, Gravity.CAUTION, f"The file had to be repaired: {kinds}.", "record it again with a newer torch", total
        )
