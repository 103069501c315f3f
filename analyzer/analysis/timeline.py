"""One step drawn."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document
from analyzer.cause_names import Cause


class Span(Document, frozen=True, kw_only=True):
    """A piece of a lane. `cause` colours it; `label` may be empty.

    Args:
        start_ns: From the start of the step.
        dur_ns: Its length, with the gaps that are too short to be drawn.
        label: What runs.
        cause: What colours it.
        busy_ns: How much of it the lane works. None in documents written before this was measured: all of it then.
    """

    start_ns: int
    dur_ns: int
    label: str
    cause: Cause
    busy_ns: int | None = None

    @property
    def worked_ns(self) -> int:
        """How much of it the lane works, as far as is known."""
        return self.dur_ns if self.busy_ns is None else self.busy_ns

    @property
    def busy_ratio(self) -> float:
        """The same as a share of its length."""
        return self.worked_ns / self.dur_ns if self.dur_ns else 1.0


class Lane(Document, frozen=True, kw_only=True):
    """One row of the timeline: the step's thread, another thread, or a device. Spans do not overlap and are in order."""

    name: str
    kind: Literal["host", "device"]
    spans: tuple[Span, ...]


class Timeline(Document, frozen=True, kw_only=True):
    """One step drawn, times relative to its start; each lane is merged to at most 400 spans."""

    step: int | None
    dur_ns: int
    lanes: tuple[Lane, ...]
