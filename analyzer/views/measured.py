"""Views measured on demand, in whichever thread asks first; each is made once. Imported after the analysis: it needs pandas."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property

from analyzer.facts import Facts
from analyzer.facts.kernels.names import describe
from analyzer.spans.intervals import IntervalSet
from analyzer.views.concerns import Concern
from analyzer.views.memory_curve import MemoryCurve, memory_curves
from analyzer.views.operator_rows import GROUPS, Group, OperatorDetail, OperatorRow
from analyzer.views.operators import Operators
from analyzer.views.step_lanes import StepLanes, step_lanes


class Measured:
    """Facts as the screens see them.

    Args:
        facts: The measurements of the trace.
        claims: For each finding's id the time it explains, best finding first.
        concerns: For each rule with a finding the time that it concerns, best finding first.
    """

    def __init__(
        self, facts: Facts, claims: Mapping[str, IntervalSet], concerns: Mapping[str, Concern] | None = None
    ) -> None:
        self._facts = facts
        self._claims = claims
        self._concerns = concerns
        self._steps: dict[int, StepLanes] = {}
        # Facts cache what they measure without a lock of their own.
        self._lock = threading.RLock()

    @cached_property
    def _operators(self) -> Operators:
        return Operators(self._facts, lambda name: describe(name).tensor_core, self._concerns)

    @property
    def has_device(self) -> bool:
        """Whether there is device work."""
        return self._facts.device.main is not None

    @property
    def has_shapes(self) -> bool:
        """Whether shapes were recorded."""
        return self._operators.has_shapes

    def operators(self, group: Group) -> tuple[OperatorRow, ...]:
        """The table of a group."""
        with self._lock:
            return self._operators.rows(group)

    def operator(self, group: Group, row: OperatorRow) -> OperatorDetail:
        """What is around one row."""
        with self._lock:
            return self._operators.detail(group, row)

    def step(self, number: int) -> StepLanes:
        """One step's lanes and gaps."""
        with self._lock:
            if number not in self._steps:
                self._steps[number] = step_lanes(self._facts, number, self._claims)
            return self._steps[number]

    def ahead(self, step: int | None) -> None:
        """Make every view before it is asked for.

        Args:
            step: The one the timeline opens on.
        """
        if step is not None:
            self.step(step)
        for group in GROUPS:
            self.operators(group)
        self.memory()

    @cached_property
    def _memory(self) -> tuple[MemoryCurve, ...]:
        return memory_curves(self._facts)

    def memory(self) -> tuple[MemoryCurve, ...]:
        """The curves of all devices; empty where memory was not recorded."""
        with self._lock:
            return self._memory
