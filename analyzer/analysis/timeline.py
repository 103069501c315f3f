"""One step drawn."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document
from analyzer.cause_names import Cause


class Span(Document, frozen=True, kw_only=True):
    """A piece of a lane. `cause` colours it; `label` may be empty."""

    start_ns: int
    dur_ns: int
    label: str
    cause: Cause


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
