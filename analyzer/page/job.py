"""The job before its ranks, ready to be drawn: verdict, a bar per rank, who is late and why, ranks x steps, what-if."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec

from analyzer.page.words import safe
from analyzer.page.words.of_steps import put
from analyzer.ranks.document import Failed, Job, JobRank, Link
from analyzer.ranks.slowed import Contended
from analyzer.units import count, duration, share

MOST_RANKS = 16
MOST_STEPS = 48
_MOST_ROWS = 8
_MOST_NOTES = 8
# What the pieces of a bar are. Where no collective could be matched, none of its time is known to be a wait.
KEY = ("works", "in collectives, no wait seen", "waits for others")
_UNMATCHED_KEY = ("works", "in collectives, waiting or not")
UNKNOWN = "unknown"
LATE_HEADS = ("Late rank", "Costs the job a step", "Late in", "Cause", "Why")
IDEAL_HEADS = {"step": ("With", "A step takes", "Less"), "recording": ("With", "The recording takes", "Less")}
RANK_HEADS = {"step": ("Rank", "A step"), "recording": ("Rank", "The recording")}


class RankBar(msgspec.Struct, frozen=True):
    """A rank's step as a bar; ratios are of the longest step, 0..1, and `about` says it in words."""

    rank: int
    work_ratio: float
    move_ratio: float
    wait_ratio: float
    step: str
    waits: str
    about: str
    late: bool
    file: str


class HeatRow(msgspec.Struct, frozen=True):
    """A rank in each step: the share of the job's step in which it waits for others, 0..1."""

    rank: int
    ratios: tuple[float, ...]


class JobPage(msgspec.Struct, frozen=True):
    """What every format shows of a job; all texts are clean.

    Args:
        title: Name, ranks and step.
        verdict: Who holds it up.
        bars: A bar per rank, the most costly first.
        key: What the pieces of a bar are, in their order.
        more_bars: How many are left out, in words; empty where none is.
        late: Cells under `late_heads`.
        ideal: Cells under `ideal_heads`.
        steps: Numbers of the steps in `heat`.
        heat: Ranks x steps; empty where nobody waits.
        notes: Links, pipeline, all-to-alls, clocks, what was left out.
        noun: What times are of: a step, or all that was recorded.
    """

    title: str
    verdict: str
    bars: tuple[RankBar, ...]
    key: tuple[str, ...]
    more_bars: str
    late: tuple[tuple[str, ...], ...]
    ideal: tuple[tuple[str, ...], ...]
    steps: tuple[int, ...]
    heat: tuple[HeatRow, ...]
    notes: tuple[str, ...]
    noun: Literal["step", "recording"]

    @property
    def late_heads(self) -> tuple[str, ...]:
        """Titles of `late`."""
        return tuple(put(head, self.noun) for head in LATE_HEADS)

    @property
    def ideal_heads(self) -> tuple[str, ...]:
        """Titles of `ideal`."""
        return IDEAL_HEADS[self.noun]

    @property
    def rank_heads(self) -> tuple[str, ...]:
        """Titles of a rank and of how long its step is."""
        return RANK_HEADS[self.noun]

    def blame(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Who is late as a small table: short titles, and a row each, with cause and reason in one."""
        heads = ("late rank", put("costs the job a step", self.noun), "late in", "cause")
        return heads, [(rank, cost, late_in, f"{cause}: {why}") for rank, cost, late_in, cause, why in self.late]

    def ideals(self) -> list[str]:
        """What the job would take with one thing made ideal, in words."""
        return [put(f"with {ideal}: {step} a step, {less} less", self.noun) for ideal, step, less in self.ideal]


def job_page(job: Job | None) -> JobPage | None:
    """The page of a job; None for a trace on its own."""
    if job is None:
        return None
    used = [row for row in job.ranks if row.state == "ok"]
    size = f" of {job.world_size}" if job.world_size and job.world_size > job.present else ""
    left = len(used) - MOST_RANKS
    # Of one step, marked or not, what is said is said of all that was recorded.
    noun: Literal["step", "recording"] = "step" if len(job.steps) > 1 else "recording"
    return JobPage(
        title=put(f"Job {safe.name(job.name)}: {job.present}{size} ranks, {duration(job.step_ns)} a step", noun),
        verdict=put(safe.clean(job.verdict.text), noun),
        bars=tuple(_bars(job, used[:MOST_RANKS])),
        key=KEY if job.matched.matched else _UNMATCHED_KEY,
        more_bars=f"{count(left, 'more rank')} that cost less" if left > 0 else "",
        late=tuple(_late(job)),
        ideal=tuple(_ideal(job)),
        steps=job.steps[:MOST_STEPS],
        heat=tuple(_heat(job, used[:MOST_RANKS])),
        notes=tuple(put(note, noun) for note in _notes(job)),
        noun=noun,
    )


def _bars(job: Job, rows: Sequence[JobRank]) -> Iterator[RankBar]:
    longest = max((row.step_ns or 0 for row in rows), default=0)
    late = {one.rank for one in job.late if one.of_rank}
    for row in rows if longest else ():
        # What it waits in a collective while it computes as well is work: nobody stands still.
        step, waits = row.step_ns or 0, min(row.exposed_waiting_least_ns or 0, row.step_ns or 0)
        moves = min((row.exposed_ns or 0) - waits, step - waits)
        bound = row.bound_by if row.bound_by in ("mixed", "unknown", None) else f"{row.bound_by}-bound"
        yield RankBar(
            rank=row.rank or 0,
            work_ratio=(step - waits - moves) / longest,
            move_ratio=moves / longest,
            wait_ratio=waits / longest,
            step=duration(step),
            waits=duration(waits) if job.matched.matched and row.exposed_waiting_least_ns is not None else UNKNOWN,
            about=safe.clean(bound or ""),
            late=row.rank in late,
            file=safe.name(row.file or "", 60),
        )


def _late(job: Job) -> Iterator[tuple[str, ...]]:
    for one in job.late[:_MOST_ROWS]:
        least = "up to " if one.at_most else ""
        cost = f"{least}{duration(one.waited_ns_per_step)} ({share(one.waited_ns_per_step / max(job.step_ns, 1))})"
        since = "" if one.since_step is None else f", from step {one.since_step}"
        since += "" if one.every is None else f", every {count(one.every, 'step')}"
        yield (
            str(one.rank), cost, f"{one.steps_late} of {one.of} steps{since}", one.cause, safe.clean(one.cause_detail)
        )  # fmt: skip


def _ideal(job: Job) -> Iterator[tuple[str, ...]]:
    for one in job.what_if[:5]:
        least = "up to " if one.at_most else ""
        yield safe.clean(one.ideal), duration(one.step_ns), f"{least}{duration(one.saved_ns_per_step)}"


def _heat(job: Job, used: Sequence[JobRank]) -> Iterator[HeatRow]:
    """Ranks x steps; nothing of a single step or rank, or where nobody waits."""
    rows = [row for row in used if len(row.waiting_by_step_ns) == len(job.steps)]
    if len(job.steps) < 2 or len(rows) < 2 or not any(any(row.waiting_by_step_ns) for row in rows):
        return
    for row in rows:
        ratios = (min(ns / max(job.step_ns, 1), 1.0) for ns in row.waiting_by_step_ns[:MOST_STEPS])
        yield HeatRow(row.rank or 0, tuple(ratios))


def _notes(job: Job) -> Iterator[str]:
    yield from _of_groups(job)
    if job.clock.hosts > 1:
        error = "unknown" if job.clock.error_ns is None else duration(job.clock.error_ns)
        fitted = "fitted to each other" if job.clock.aligned else "not all linked by collectives"
        yield f"clocks of {job.clock.hosts} hosts: {fitted}, error {error}"
    if job.matched.alone:
        yield f"{count(job.matched.alone, 'entry', 'entries')} of collectives without another rank's left out"
    if job.matched.contradicting:
        yield f"{count(job.matched.contradicting, 'entry', 'entries')} of collectives that contradict one another left out"
    yield from _not_used(job.failed)


def _not_used(failed: Sequence[Failed]) -> Iterator[str]:
    """A line for each reason, with the first of the files that it is said of."""
    by_reason: dict[str, list[str]] = {}
    for one in failed:
        by_reason.setdefault(one.reason, []).append(one.file)
    for reason, files in islice(by_reason.items(), _MOST_NOTES):
        more = f" and {count(len(files) - 1, 'more file')}" if len(files) > 1 else ""
        yield f"not used: {safe.name(files[0])}{more}: {safe.clean(reason)}"
    unsaid = sum(map(len, islice(by_reason.values(), _MOST_NOTES, None)))
    if unsaid:
        yield f"{count(unsaid, 'more file')} not used"


def _contended(one: Contended) -> str:
    other = f" of group {safe.name(str(one.other))}" if one.other is not None else ""
    beside = f"another one{other} moves data" if one.beside == "collective" else "the devices compute"
    what = f"{safe.name(one.kind)} of {one.size_bytes / 1e6:,.0f} MB in group {safe.name(str(one.group))}"
    return (
        f"contention: {what} takes {one.slower:.1f} times as long while {beside} as without: "
        f"at most {duration(one.exposed_ns_per_step)} a step"
    )


def _ends(link: Link) -> str:
    if link.kind == "send":
        return f"ranks {link.ranks[0]} and {link.ranks[1]}"
    return f"group {safe.name(str(link.group))}"


def _of_groups(job: Job) -> Iterator[str]:
    for link in [link for link in job.links if link.slow][:5]:
        yield (
            f"slow link: {_ends(link)} moves {safe.name(link.kind)} at {link.bytes_per_s / 1e9:.1f} GB/s, "
            f"equal groups at {(link.peers_bytes_per_s or 0.0) / 1e9:.1f} GB/s"
        )
    if job.pipeline is not None:
        pace = f"; stage {job.pipeline.slowest} sets the pace" if any(one.cause == "stage" for one in job.late) else ""
        called = "pipeline" if job.pipeline.stated else "pipeline, by who sends to whom"
        bubble = share(job.pipeline.bubble_ratio)
        yield f"{called}: {count(len(job.pipeline.stages), 'stage')}, in {bubble} of the step ranks wait for messages{pace}"
    for uneven in job.uneven[:3]:
        yield f"uneven all-to-all: rank {uneven.rank} gets {uneven.ratio:.1f} times the mean of its group"
    for one in job.contended:
        if one.exposed_ns_per_step >= 0.02 * job.step_ns:
            yield _contended(one)
    if job.contention is not None and job.contention.ns_per_step >= 0.02 * job.step_ns:
        yield (
            f"beside collectives kernels of rank {job.contention.rank} take {share(job.contention.slower_ratio)} longer than the "
            f"same ones alone: {duration(job.contention.ns_per_step)} a step"
        )
