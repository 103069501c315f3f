"""Who is here: every file becomes a rank of the job, or is named with the reason why it does not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from analyzer.ranks.document import Failed, RankState
from analyzer.ranks.summary import RankSummary


class Roll(msgspec.Struct, frozen=True):
    """The ranks of a job.

    Args:
        used: One summary per rank that can be held against the others, by rank.
        untrusted: Ranks whose traces cannot be believed.
        doubled: Further files of ranks that are used already.
        missing: Ranks that no file is of; of a job that states thousands, the first.
        world_size: How many ranks the job has; None where nobody says.
        failed: Files that gave no rank, or whose rank is not used.
    """

    used: tuple[RankSummary, ...]
    untrusted: tuple[RankSummary, ...]
    doubled: tuple[RankSummary, ...]
    missing: tuple[int, ...]
    world_size: int | None
    failed: tuple[Failed, ...]

    def state_of(self, summary: RankSummary) -> RankState:
        """What became of a summary."""
        if summary in self.doubled:
            return "doubled"
        return "untrusted" if summary in self.untrusted else "ok"


def call_the_roll(summaries: Sequence[RankSummary], failed: Sequence[Failed] = ()) -> Roll:
    """Sorts summaries by what can be done with them.

    Args:
        summaries: Of all files that could be read.
        failed: The files that could not.
    """
    lost = list(failed)
    by_rank: dict[int, list[RankSummary]] = {}
    for one in sorted(summaries, key=lambda one: one.file):
        if one.rank is None:
            lost.append(Failed(file=one.file, rank=None, reason=_NO_RANK))
        else:
            by_rank.setdefault(one.rank, []).append(one)
    runs = _runs(summaries)
    used, untrusted, doubled = [], [], []
    for rank, several in sorted(by_rank.items()):
        # The one that can be believed, of the run that is used of every rank, and has most steps; the first by name among equals.
        best = max(several, key=lambda one: (one.trust != "unusable", runs[id(one)], len(one.steps)))
        others = [one for one in several if one is not best]
        doubled += others
        lost += [Failed(file=one.file, rank=rank, reason=_doubled(one, best)) for one in others]
        if best.trust == "unusable":
            untrusted.append(best)
            lost.append(Failed(file=best.file, rank=rank, reason=_doubt(best)))
        else:
            used.append(best)
    sizes = [one.world_size for one in summaries if one.world_size]
    world = max(set(sizes), key=sizes.count) if sizes else None
    here = set(by_rank) | {one.rank for one in failed if one.rank is not None}
    missing = tuple(islice((rank for rank in range(world or 0) if rank not in here), _MOST_MISSING))
    return Roll(tuple(used), tuple(untrusted), tuple(doubled), missing, world, tuple(lost))


def _runs(summaries: Sequence[RankSummary]) -> dict[int, tuple[int, int, int]]:
    """Of each summary, by its identity, how good the run is that it is of: as many ranks, as many steps, as late.

    A job that was started again leaves two recordings of each rank. Those of one run overlap in time; where the clocks of hosts are
    apart, each host has runs of its own, in the same order.
    """
    spans = sorted(
        ((_begins_ns(one), _begins_ns(one) + one.window_ns, one) for one in summaries), key=lambda span: span[:2]
    )
    runs: list[list[RankSummary]] = []
    until = 0
    for begin, end, one in spans:
        if runs and begin <= until:
            runs[-1].append(one)
            until = max(until, end)
        else:
            runs.append([one])
            until = end
    good = [
        (len({each.rank for each in run}), min(len(each.steps) for each in run), place)
        for place, run in enumerate(runs)
    ]
    return {id(one): said for said, run in zip(good, runs, strict=True) for one in run}


def _begins_ns(one: RankSummary) -> int:
    return one.origin_ns + (one.steps[0].start_ns if one.steps else 0)


# As many as a folder may hold files: each becomes a row of the document.
_MOST_MISSING = 4_096
_NO_RANK = "neither the trace nor its name says which rank it is of: name it rank_N.json, or summarize it with --rank N"


def _doubled(one: RankSummary, best: RankSummary) -> str:
    if one.sha256 == best.sha256:
        return f"rank {one.rank} twice: the same trace as {best.file}, which is used"
    # The same words for all ranks of that recording.
    return "another recording of these ranks; name its files alone to see what it says"


def _doubt(one: RankSummary) -> str:
    return f"not to be trusted: {one.doubts[0]}" if one.doubts else "not to be trusted"
