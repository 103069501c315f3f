"""Steps that take longer than the others, and in which cause the difference lies."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.steps.faults import ANOTHER_LOOP, BATCHES
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet

# Steps this much longer than the median are called slow when looking for what differs (half of the threshold that fires).
SLOW_RATIO = 1.25


class OtherLoop(msgspec.Struct, frozen=True):
    """A step that holds another loop.

    Args:
        number: Of the step.
        dur_ns: How long it takes.
        what: What it holds, in words.
        draws: Whether the loop draws batches of a loader, which an evaluation does and a rollout does not.
    """

    number: int
    dur_ns: int
    what: str
    draws: bool


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
    def durations_ns(self) -> tuple[int, ...]:
        """How long each of the steps takes, in order."""
        return tuple(self.steps["dur_ns"].tolist())

    @property
    def slow_time(self) -> IntervalSet:
        """When the slow steps run."""
        return IntervalSet.of_rows(self.steps[self.steps["number"].isin(self.slow)])

    @property
    def with_another_loop(self) -> tuple[OtherLoop, ...]:
        """The steps of `others`, in order."""
        reasons = self.others["reason"].str.partition(": ")[2] if len(self.others) else ()
        frame = self.others
        return tuple(
            OtherLoop(int(number), int(dur_ns), str(what), BATCHES in str(what))
            for number, dur_ns, what in zip(frame.get("number", ()), frame.get("dur_ns", ()), reasons, strict=True)
        )

    @property
    def updates_seldom(self) -> bool:
        """Whether slow steps are those in which the optimizer runs at all: gradients are accumulated over the others."""
        return self.cause == "optimizer" and not self.usual_ns

    @property
    def worst_ratio(self) -> float:
        """The longest step as a multiple of the median; 0 without steps."""
        return float(self.steps["dur_ns"].max()) / self.median_ns if len(self.steps) and self.median_ns else 0.0


def _of_another_loop(reasons: pd.Series[str]) -> BoolArray:
    found = present(reasons)
    if found.any():
        found = reasons.str.startswith(ANOTHER_LOOP, na=False).to_numpy(dtype=bool)
    return found


def unsteady(steps: Steps, step_causes: pd.DataFrame) -> Unsteady:
    """Compares the used steps with their median."""
    used = steps.used
    frame = steps.frame
    first = frame["number"].iloc[0] if len(frame) else None
    others = chosen(frame, _of_another_loop(frame["reason"]) & ~frame["used"].to_numpy())
    steady = chosen(used, used["number"].to_numpy() != first)
    durations = steady["dur_ns"].to_numpy()
    median = float(np.median(durations)) if len(steady) else 0.0
    is_slow = durations >= SLOW_RATIO * median
    if not is_slow.any() or is_slow.all():
        return Unsteady(steady, median, (), None, 0, others=others)
    causes = step_causes.loc[steady["number"].to_numpy()]
    usual = causes[~is_slow].median()
    excess = (causes[is_slow] - usual).clip(lower=0).sum()
    cause = str(excess.idxmax())
    slow = steady["number"].to_numpy()[is_slow]
    numbers = tuple(np.asarray(slow).tolist())
    return Unsteady(steady, median, numbers, cause, int(excess.max()), int(usual[cause]), others)
