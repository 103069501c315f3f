"""Steps that take longer than the others, and in which cause the difference lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.steps.faults import ANOTHER_LOOP

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Steps this much longer than the median are called slow when looking for what differs (half of the threshold that fires).
SLOW_RATIO = 1.25


class Unsteady(msgspec.Struct, frozen=True):
    """Durations of the used steps, without the first of the trace.

    Args:
        steps: The steps: number, start_ns, end_ns, dur_ns.
        median_ns: Their median.
        slow: Numbers of the steps at least 1.25 times as long.
        cause: The cause whose time differs most between slow and other steps; None without slow steps.
        excess_ns: By how much it does, over all slow steps.
        usual_ns: What the cause takes in a usual step, median.
        others: Steps that hold another loop, which are in no other figure: number, dur_ns, reason.
    """

    steps: pd.DataFrame
    median_ns: float
    slow: tuple[int, ...]
    cause: str | None
    excess_ns: int
    usual_ns: int = 0
    others: pd.DataFrame = msgspec.field(default_factory=pd.DataFrame)

    @property
    def updates_seldom(self) -> bool:
        """Whether slow steps are those in which the optimizer runs at all: gradients are accumulated over the others."""
        return self.cause == "optimizer" and not self.usual_ns

    @property
    def worst_ratio(self) -> float:
        """The longest step as a multiple of the median; 0 without steps."""
        return float(self.steps["dur_ns"].max()) / self.median_ns if len(self.steps) and self.median_ns else 0.0


def unsteady(facts: Facts) -> Unsteady:
    """Compares the used steps with their median."""
    used = facts.steps.used
    frame = facts.steps.frame
    first = frame["number"].iloc[0] if len(frame) else None
    others = frame[frame["reason"].str.startswith(ANOTHER_LOOP, na=False).to_numpy(dtype=bool) & ~frame["used"]]
    steps = used[(used["number"] != first).to_numpy()]
    median = float(steps["dur_ns"].median()) if len(steps) else 0.0
    is_slow = (steps["dur_ns"] >= SLOW_RATIO * median).to_numpy(dtype=bool)
    if not is_slow.any() or is_slow.all():
        return Unsteady(steps, median, (), None, 0, others=others)
    causes = facts.step_causes.loc[steps["number"].to_numpy()]
    usual = causes[~is_slow].median()
    excess = (causes[is_slow] - usual).clip(lower=0).sum()
    cause = str(excess.idxmax())
    slow = steps["number"].to_numpy()[is_slow]
    numbers = tuple(np.asarray(slow).tolist())
    return Unsteady(steps, median, numbers, cause, int(excess.max()), int(usual[cause]), others)
