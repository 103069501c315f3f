"""Other work on the cores: the training thread could run and had to wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.units import share

if TYPE_CHECKING:
    from analyzer.facts import Facts

# From here on it could be all of what the rules on host time take for a cause (PY001 and DL001 fire from 5 % of the step).
CROWDED_RATIO = 0.05


def check(facts: Facts) -> Iterator[Symptom]:
    """A training thread without a core, where the collector asked the system."""
    ratio = facts.collected.core_wait_ratio
    if ratio is None or ratio < CROWDED_RATIO:
        return
    steps = f"For {share(ratio)} of the recorded steps the training thread was ready to run and had no core"
    if facts.input_wait.multi_process and not _only_while_recorded(facts):
        # Workers that compete with training are the program's own doing, and DL007 and DL008 say so.
        yield Symptom(
            None,
            Gravity.NOTE,
            f"{steps}: the loader's workers or other programs had them.",
            "record on a quiet machine, and with fewer workers than cores",
            1,
            ratio,
        )
        return
    yield Symptom(
        None,
        Gravity.CAUTION,
        f"{steps}: other programs or threads had them, and that time counts as the host's own.",
        "record on a quiet machine",
        1,
        ratio,
        passes=True,
        # Without a device, ops wait for a core as much as what lies between them.
        touches=IDLE_CAUSES if facts.device is not None else None,
    )


def _only_while_recorded(facts: Facts) -> bool:
    """Whether steps waited for a core longer than a whole step takes without the profiler: workers would slow that one, too."""
    unprofiled = facts.collected.unprofiled_step_ns
    return unprofiled is not None and facts.per_step(facts.without_core_ns) > unprofiled
