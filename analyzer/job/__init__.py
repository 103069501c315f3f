"""Several traces at once: the ranks of one job held against each other, or unrelated recordings side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from analyzer.analysis import RankRow
from analyzer.explain import Options, explain_facts
from analyzer.explained import Explained, Job
from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace
from analyzer.job.called import apart, called, distinct_names, failed_as, job_name, placed
from analyzer.job.engines import Engine, Outcome
from analyzer.job.engines.local import HereEngine
from analyzer.job.from_summary import analysis_of, bound_of
from analyzer.job.one import summarized
from analyzer.job.remote import fetched, name_of
from analyzer.ranks import document
from analyzer.ranks.files import load, looks_like_summary
from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from analyzer.units import count
from traces.errors import AdvisorError, UntrustedTraceError
from traces.progress import Progress, silent
from traces.reader.read import read_every

_PLAIN = Options()
# Where all ranks are asked for, so many are explained: each is read once more.
_EXPLAINED = 16


def explain_job(
    paths: Sequence[Path | str],
    options: Options = _PLAIN,
    progress: Progress | None = None,
    engine: Engine | None = None,
    *,
    only_first: bool = False,
) -> Job:
    """Reads several traces and says what each means; ranks of one job are held against each other.

    Args:
        paths: Traces or summaries, at least one; paths or URLs.
        options: What to run on what.
        progress: Told (stage, done, total).
        engine: Who reads them; this process where none is named.
        only_first: Whether of one job's ranks only the one to look at first is to be explained.

    Raises:
        AdvisorError: A trace cannot be read, and the others are not ranks of one job.
        UntrustedTraceError: They are ranks of one job, and no trace of them can be believed.
    """
    tell = progress or silent
    places = [str(path) for path in paths]
    if len(places) == 1:
        with fetched(places[0]) as path:
            if not looks_like_summary(path):
                return _one_file(path, options, progress, only_first)
    outcomes = _outcomes(places, options, tell, engine or HereEngine())
    names = distinct_names(places)
    found = [
        (one.place, called(summary, names[one.place], places[one.place])) for one in outcomes for summary in one.ranks()
    ]
    summaries = placed(apart([summary for _, summary in found], [names[place] for place, _ in found]))
    found = [(place, summary) for (place, _), summary in zip(found, summaries, strict=True)]
    failed = [failed_as(names[one.place], one.reason) for one in outcomes if one.reason]
    if not one_job(summaries):
        for one in outcomes:
            if one.reason:
                raise _beside(one.raised(), [names[place] for place in dict.fromkeys(place for place, _ in found)])
        every = [
            _told_apart(one, places[place], names[place])
            for place in range(len(places))
            for one in _explained(places[place], options, progress, None, None)
        ]
        return Job(tuple(every), False)
    job = merge(summaries, failed, job_name(places))
    where = {(one.rank, one.file): (place, one) for place, one in found}

    def again(row: RankRow) -> Explained:
        place, summary = where[row.rank, row.name]
        explained = _explained(places[place], options, progress, JobPlace(job, row.rank), summary)[0]
        return _told_apart(explained, places[place], names[place])

    return Job(_in_order(job, again, 1 if only_first else _EXPLAINED), True)


def _told_apart(one: Explained, place: str, name: str) -> Explained:
    """The answer to one of several files, called by as much of its path as tells it from the others."""
    alone, trace = name_of(place), one.analysis.trace
    if name == alone or not trace.name.startswith(alone):
        return one
    # Of a file that holds several ranks what comes behind says which.
    called_so = msgspec.structs.replace(trace, name=name + trace.name[len(alone) :])
    return msgspec.structs.replace(one, analysis=msgspec.structs.replace(one.analysis, trace=called_so))


def _beside(error: AdvisorError, readable: Sequence[str]) -> AdvisorError:
    """The error of one file among several that are no ranks of one job, with what can be read all the same."""
    if readable:
        more = f" and {count(len(readable) - 1, 'other')}" if len(readable) > 1 else ""
        told = f"{readable[0]}{more} can be read: name what is to be explained"
        error.fix = f"{error.fix}; {told}" if error.fix else told
    return error


def one_job(summaries: Sequence[RankSummary]) -> bool:
    """Whether there are two ranks or more that state one number of ranks, or none at all."""
    known = [one for one in summaries if one.rank is not None]
    return len({one.rank for one in known}) > 1 and len({one.world_size for one in known}) == 1


def _one_file(path: Path, options: Options, progress: Progress | None, only_first: bool) -> Job:
    """The one trace of a file, or the ranks that wrote into one: read once, as what a pipe gave is gone afterwards."""
    traces = read_every(path, progress or silent, strict=options.strict)
    if len(traces) == 1:
        return Job((explain_facts(Facts(traces[0], options.steps), options, progress),), False)
    found = [summarized(Facts(trace, options.steps), options, progress) for trace in traces]
    summaries = [summary for _, summary in found]
    if not one_job(summaries):
        return Job(tuple(explained for explained, _ in found), False)
    job = merge(summaries, [], path.name)
    at = {(one.rank, one.file): place for place, one in enumerate(summaries)}

    def again(row: RankRow) -> Explained:
        trace = traces[at[row.rank, row.name]]
        return explain_facts(Facts(trace, options.steps, JobPlace(job, row.rank)), options, progress)

    return Job(_in_order(job, again, 1 if only_first else _EXPLAINED), True)


def _outcomes(places: Sequence[str], options: Options, tell: Progress, engine: Engine) -> list[Outcome]:
    tell("reading ranks", 0, len(places))
    found: list[Outcome] = []
    for one in engine.outcomes(places, options, lambda *_: tell("reading ranks", len(found), len(places))):
        found.append(one)
        tell("reading ranks", len(found), len(places))
    return sorted(found, key=lambda one: one.place)


def _in_order(job: document.Job, explain: Callable[[RankRow], Explained], most: int) -> tuple[Explained, ...]:
    """The ranks to look at, the first one first, each knowing of the others.

    Raises:
        UntrustedTraceError: No rank's trace can be believed.
    """
    ranks = tuple(_row(job, row) for row in job.ranks if row.state == "ok" and row.rank is not None)
    if not ranks:
        raise UntrustedTraceError(
            "of no rank of this job a trace is to be trusted for advice",
            where=job.failed[0].file if job.failed else job.name,
            why=job.failed[0].reason if job.failed else None,
            fix="explain one of its traces alone: the report says what it lacks, and how to record it so that it lacks nothing",
        )
    explained = []
    for row in ranks[:most]:
        one = explain(row)
        analysis = msgspec.structs.replace(one.analysis, ranks=ranks if most == 1 else ranks[:most], job=job)
        explained.append(msgspec.structs.replace(one, analysis=analysis))
    return tuple(explained)


def _explained(
    where: str, options: Options, progress: Progress | None, place: JobPlace | None, summary: RankSummary | None
) -> tuple[Explained, ...]:
    """What the traces in a file mean; of a job's rank only its own, of a summary as much as that holds."""
    with fetched(where) as path:
        if looks_like_summary(path):
            return (Explained(analysis_of(summary or load(path, where))),)
        traces = read_every(path, progress or silent, strict=options.strict)
    if place is not None and len(traces) > 1:
        traces = tuple(trace for trace in traces if trace.meta.rank == place.rank)[:1]
    return tuple(explain_facts(Facts(trace, options.steps, place), options, progress) for trace in traces)


def _row(job: document.Job, row: document.JobRank) -> RankRow:
    return RankRow(
        rank=row.rank or 0,
        name=row.file or "",
        step_ns=row.step_ns or 0,
        bound_by=bound_of(row.bound_by),
        verdict=row.verdict or "",
        in_collectives_ns=row.in_collectives_ns if job.matched.matched else None,
        late=any(one.rank == row.rank and one.of_rank for one in job.late),
    )
