"""The trace for Perfetto, with the findings drawn in. A page cannot open a file by itself: the reader drags it there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer import units
from analyzer.analysis import Analysis, FindingDocument, Intervals
from analyzer.tui.outside import clipboard

if TYPE_CHECKING:
    from analyzer.explain import Explained

PAGE = "https://ui.perfetto.dev"


def write(explained: Explained, path: Path) -> Path:
    """A copy of the trace with gaps and findings on tracks of their own; it is not redacted.

    Args:
        explained: What to draw.
        path: The trace.

    Raises:
        AdvisorError: The trace cannot be read again, or the copy not be written.
        OSError: There is no folder for it.
    """
    from analyzer.views.annotations import events
    from traces.rewrite.annotated import write_annotated

    assert explained.facts is not None  # only a report comes without
    output = clipboard.folder() / f"{path.name.partition('.')[0][:80] or 'trace'}.annotated.json.gz"
    output.unlink(missing_ok=True)
    write_annotated(path, output, events(explained.facts, explained.analysis, explained.claims))
    return output


def where(finding: FindingDocument | None, analysis: Analysis) -> str:
    """`step 5, 1.20 s to 1.24 s after the start`: the longest piece of the finding, or the step that is drawn."""
    step, span = analysis.timeline.step, (0, analysis.timeline.dur_ns)
    for evidence in finding.evidence if finding is not None else ():
        if isinstance(evidence, Intervals) and evidence.spans:
            step, span = evidence.step, max(evidence.spans, key=lambda one: one[1] - one[0])
            break
    row = next((row for row in analysis.steps if row.step == step), None)
    if row is None:
        return "the whole trace"
    start, end = (units.duration(row.start_ns + at) for at in span)
    return f"{analysis.trace.steps.noun} {step}, {start} to {end} after the start"
