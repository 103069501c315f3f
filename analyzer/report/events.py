"""The events of the drawn step for a page, with names fit to be shown to anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.page import safe
from analyzer.report.redact import cleaner
from analyzer.report.redact.here import project
from analyzer.views.slim_lanes import slim
from analyzer.views.step_lanes import step_lanes

if TYPE_CHECKING:
    from analyzer.explained import Explained


def events(explained: Explained, *, redacted: bool = True) -> bytes | None:
    """The lanes as `analyzer.report.html` takes them; None where the trace is not at hand, or has no step."""
    number = explained.analysis.summary.representative_step
    if explained.facts is None or number is None:
        return None
    lanes = step_lanes(explained.facts, number, explained.claims)
    clean = cleaner(project()) if redacted else str
    return slim(lanes, lambda name: safe.name(clean(name)))
