"""Several traces at once: the ranks of one job held against each other, or unrelated recordings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from analyzer.analysis import Analysis, RankRow
from analyzer.engine.plugins import load_rules
from analyzer.explain import Explained, Options, explain_facts
from analyzer.facts import Facts
from analyzer.facts.communication.ranks import RankSkew, rank_of
from analyzer.facts.isolation import attempt
from traces.progress import Progress, silent
from traces.reader.read import read_every

_PLAIN = Options()


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


def explain_job(paths: Sequence[Path], options: Options = _PLAIN, progress: Progress | None = None) -> Job:
    """Reads several traces and says what each means; ranks of one job know of each other.

    Args:
        paths: The traces, at least one.
        options: What to run on what.
        progress: Told (stage, done, total) for each trace in turn.

    Raises:
        AdvisorError: A trace cannot be read.
    """
    every = [
        Facts(trace, options.steps)
        for path in paths
        for trace in read_every(path, progress or silent, strict=options.strict)
    ]
    if not _one_job(every):
        return Job(tuple(explain_facts(facts, options, progress) for facts in every), False)
    explained = []
    for index, facts in enumerate(every):
        # Facts are cached per object: each rank keeps its own and borrows the others'.
        facts.peers = tuple(other for place, other in enumerate(every) if place != index)
        explained.append(explain_facts(facts, options, progress))
    rows = _rows(every, [item.analysis for item in explained])
    ordered = sorted(zip(rows, explained, strict=True), key=lambda pair: _urgency(pair[0]))
    ranks = tuple(row for row, _ in ordered)
    return Job(
        tuple(
            msgspec.structs.replace(item, analysis=msgspec.structs.replace(item.analysis, ranks=ranks))
            for _, item in ordered
        ),
        True,
    )


def _one_job(every: Sequence[Facts]) -> bool:
    """Ranks of one job state different ranks and one world size."""
    stated = [facts.trace.meta.distributed for facts in every]
    ranks = [info.get("rank") for info in stated]
    sizes = {info.get("world_size") for info in stated}
    known = all(isinstance(rank, int) for rank in ranks)
    return len(every) > 1 and known and len(set(ranks)) == len(ranks) and len(sizes) == 1


def _rows(every: Sequence[Facts], analyses: Sequence[Analysis]) -> list[RankRow]:
    skew = attempt(lambda: every[0].communication.rank_skew, None)
    return [
        _row(facts, analysis, index, skew) for index, (facts, analysis) in enumerate(zip(every, analyses, strict=True))
    ]


def _row(facts: Facts, analysis: Analysis, index: int, skew: RankSkew | None) -> RankRow:
    summary = analysis.summary
    return RankRow(
        rank=rank_of(facts.trace, index),
        name=analysis.trace.name,
        step_ns=summary.step_ns.mean,
        bound_by=summary.verdict.bound_by,
        verdict=summary.verdict.text,
        in_collectives_ns=int(skew.in_collectives_ns[index].mean()) if skew is not None else None,
        late=_is_late(analysis, facts),
    )


def _is_late(analysis: Analysis, facts: Facts) -> bool:
    """Whether a rule on late ranks fired, and this is the rank."""
    telling = {rule.meta.code for rule in load_rules() if "late_rank" in rule.meta.topics}
    fired = any(check.rule in telling and check.state == "fired" for check in analysis.checks)
    # A rule that fired has what it needs.
    return fired and facts.communication.rank_skew is not None and facts.communication.rank_skew.late == 0


def _urgency(row: RankRow) -> tuple[bool, int, int]:
    """The late rank first, then the one that waits least for the others, then the slowest."""
    return (not row.late, row.in_collectives_ns if row.in_collectives_ns is not None else 0, -row.step_ns)
