"""What sections share: the trace, and one list of what could not be measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from analyzer.facts.isolation import FactError, Measured, attempt, measured
from traces.trace import Trace


class Section:
    """Measurements of one concept, each made once, when first asked for, out of the trace and of the sections below.

    Attributes:
        NAME: The concept, as the attribute of `Facts` that it is.

    Args:
        trace: The trace.
        failures: Where each measurement that fails is kept, by name; one for all sections.
    """

    NAME: ClassVar[str]

    def __init__(self, trace: Trace, failures: dict[str, FactError]) -> None:
        self.trace = trace
        self.failures = failures

    def attempt(self, name: str, measure: Callable[[], Measured], instead: Measured) -> Measured:
        """What can be measured beside the figures here, or something instead; a failure is kept under its name."""
        return attempt(lambda: measured(self.failures, name, measure), instead)
