"""A run of a comparison from a rank's summary alone: what a summary does not hold stays unknown, and makes nothing incomparable."""

from __future__ import annotations

from analyzer.compare.snapshot import SNAPSHOT_VERSION, Conditions, Snapshot
from analyzer.ranks.summary import RankSummary


def snapshot_of_summary(summary: RankSummary) -> Snapshot:
    """The run of a rank of which only the summary is here."""
    steps = max(len(summary.steps), 1)
    causes: dict[str, float] = {}
    kernels: dict[str, float] = {}
    for step in summary.steps:
        for cause, ns in step.causes.items():
            causes[cause] = causes.get(cause, 0.0) + ns / steps
    for row in summary.kernels:
        kernels[row.name] = kernels.get(row.name, 0.0) + row.dur_ns / steps
    on_device = summary.device_kind != "cpu"
    return Snapshot(
        version=SNAPSHOT_VERSION,
        name=summary.file,
        sha256=summary.sha256,
        trust=summary.trust,
        conditions=Conditions(
            device=summary.device if on_device else "cpu",
            world_size=summary.world_size,
            number_formats=None,
            batch=summary.batch_size,
            torch=None,
            cuda=None,
            stacks=False,
            memory=False,
            shapes=any(row.shape for row in summary.kernels),
            steps_from="ProfilerStep",
        ),
        steps_ns=tuple(step.dur_ns for step in summary.steps),
        waterfall_ns=causes,
        # What fired is named in a summary; what looked and found nothing is not, so that nothing can be called fixed.
        findings=(),
        quiet=(),
        kernels_ns=kernels if on_device else {},
        ops_ns={} if on_device else kernels,
    )
