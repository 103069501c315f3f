"""The job before its ranks: its verdict, a bar per rank with waits hatched, who is late and why, what a step takes without."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import safe
from analyzer.ranks.document import Job, JobRank
from analyzer.report.style import Style
from analyzer.units import count, duration, share

_SHOWN = 16
_BAR = 40
_WORK, _WAIT, _MOVE = "#", "/", "="
_STEPS = 24
# A rank that waits for so much of a step is drawn dark.
_SHADES = " .:-=+*#%@"


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The block; nothing where the trace stands alone."""
    job = analysis.job
    if job is None:
        return
    size = f" of {job.world_size}" if job.world_size and job.world_size > job.present else ""
    yield style.paint(f"Job {safe.name(job.name)}: {job.present}{size} ranks, {duration(job.step_ns)} a step", "title")
    yield ""
    for line in safe.wrap(safe.clean(job.verdict.text), style.width):
        yield style.paint(line, "strong")
    yield ""
    yield from _bars(job)
    yield from _late(job)
    yield from _what_if(job)
    yield from _heat(job)
    yield from _notes(job)


def _used(job: Job) -> list[JobRank]:
    return [row for row in job.ranks if row.state == "ok"]


def _bars(job: Job) -> Iterator[str]:
    """A bar per rank: work, moving data, and waiting for others."""
    rows = _used(job)
    longest = max((row.step_ns or 0 for row in rows), default=0)
    if not longest:
        return
    for row in rows[:_SHOWN]:
        step, waits = row.step_ns or 0, row.waiting_ns or 0
        moves = min(row.transfer_ns or 0, max(step - waits, 0))
        cells = [round(_BAR * part / longest) for part in (max(step - waits - moves, 0), moves, waits)]
        bar = _WORK * cells[0] + _MOVE * cells[1] + _WAIT * cells[2]
        bound = row.bound_by if row.bound_by in ("mixed", "unknown", None) else f"{row.bound_by}-bound"
        yield f"  rank {row.rank:<5} {bar:<{_BAR}} waits {duration(waits):>8} of {duration(step):>8}  {bound or ''}"
    if len(rows) > _SHOWN:
        yield f"  {count(len(rows) - _SHOWN, 'more rank')} that cost less"
    yield f"  {_WORK} works  {_MOVE} moves data, waiting left out  {_WAIT} waits for others"


def _late(job: Job) -> Iterator[str]:
    if not job.late:
        return
    yield ""
    yield "  late rank    costs the job   late in        cause"
    for one in job.late[:_SHOWN]:
        cost = f"{duration(one.waited_ns_per_step)} ({share(one.waited_ns_per_step / max(job.step_ns, 1))})"
        since = "" if one.since_step is None else f" from step {one.since_step}"
        cause = f"{one.cause}: {one.cause_detail}"
        yield f"  {one.rank:<12} {cost:<15} {one.steps_late} of {one.of} steps{since}  {safe.clean(cause)}"


def _what_if(job: Job) -> Iterator[str]:
    if not job.what_if:
        return
    yield ""
    for one in job.what_if[:5]:
        yield (
            f"  with {safe.clean(one.ideal)}: {duration(one.step_ns)} a step, {duration(one.saved_ns_per_step)} less "
            f"(slowdown {one.slowdown:.2f})"
        )


def _heat(job: Job) -> Iterator[str]:
    """Ranks x steps: the darker, the more of the step the rank waits for others."""
    rows = [row for row in _used(job) if len(row.waiting_by_step_ns) == len(job.steps)]
    if len(job.steps) < 2 or len(rows) < 2 or not any(any(row.waiting_by_step_ns) for row in rows):
        return
    yield ""
    yield f"  waiting by step, {job.steps[0]} to {job.steps[min(len(job.steps), _STEPS) - 1]} (the darker, the more of a step)"
    for row in rows[:_SHOWN]:
        shades = "".join(
            _SHADES[min(int(len(_SHADES) * ns / max(job.step_ns, 1)), len(_SHADES) - 1)]
            for ns in row.waiting_by_step_ns[:_STEPS]
        )
        yield f"  rank {row.rank:<5} |{shades}|"


def _notes(job: Job) -> Iterator[str]:
    slow = [link for link in job.links if link.slow]
    for link in slow[:5]:
        peers = link.peers_bytes_per_s or 0.0
        yield (
            f"  slow link: group {safe.name(str(link.group))} moves {link.kind} at {link.bytes_per_s / 1e9:.1f} GB/s, "
            f"equal groups at {peers / 1e9:.1f} GB/s"
        )
    if job.pipeline is not None:
        yield (
            f"  pipeline: {count(len(job.pipeline.stages), 'stage')}, bubble {share(job.pipeline.bubble_ratio)} of the step"
            + (f"; stage {job.pipeline.slowest} sets the pace" if any(one.cause == "stage" for one in job.late) else "")
        )
    for uneven in job.uneven[:3]:
        yield f"  uneven all-to-all: rank {uneven.rank} gets {uneven.ratio:.1f} times the mean of its group"
    if job.clock.hosts > 1:
        error = "unknown" if job.clock.error_ns is None else duration(job.clock.error_ns)
        fitted = "fitted to each other" if job.clock.aligned else "not all linked by collectives"
        yield f"  clocks of {job.clock.hosts} hosts: {fitted}, error {error}"
    if job.matched.contradicting:
        yield f"  {count(job.matched.contradicting, 'collective')} of ranks that contradict one another left out"
    for one in job.failed[:8]:
        yield f"  not used: {safe.name(one.file)}: {safe.clean(one.reason)}"
    if len(job.failed) > 8:
        yield f"  {count(len(job.failed) - 8, 'more file')} not used"
