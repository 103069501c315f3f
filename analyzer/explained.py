"""What comes out of explaining: a document with what it was made from, and several of them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from analyzer.analysis import Analysis

# Importing them brings pandas, which a report that is opened again does not need.
if TYPE_CHECKING:
    from analyzer.facts import Facts
    from analyzer.finding import Saving
    from analyzer.spans.intervals import IntervalSet


class Explained(msgspec.Struct, frozen=True):
    """The document and what it was made from.

    Args:
        analysis: The document.
        facts: The measurements; None where only the document is there (a report that is opened again).
        claims: For each finding of its own the time it explains, best finding first.
        savings: What each finding claims, those that others explain among them.
    """

    analysis: Analysis
    facts: Facts | None = None
    claims: Mapping[str, IntervalSet] = msgspec.field(default_factory=dict)
    savings: Mapping[str, Saving] = msgspec.field(default_factory=dict)


class Job(msgspec.Struct, frozen=True):
    """What became of several traces.

    Args:
        explained: One answer per trace; of one job's ranks the one to look at first comes first.
        one_job: Whether the traces are ranks of one job.
    """

    explained: tuple[Explained, ...]
    one_job: bool

    @property
    def first(self) -> Explained:
        """The answer to show first."""
        return self.explained[0]
