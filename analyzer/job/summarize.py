"""From one explained trace to the summary of its rank; a pure function, so that each node can summarise its own disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from analyzer.assemble import tool_version
from analyzer.cause_names import CAUSES
from analyzer.explain import Explained
from analyzer.facts import Facts
from analyzer.facts.host.among_ranks import CALL
from analyzer.job.calls import Calls, collective_calls
from analyzer.job.work import worked
from analyzer.ranks.names import rank_in
from analyzer.ranks.summary import CollectiveColumns, FindingPart, OtherLoopPart, RankSource, RankSummary, StepPart
from analyzer.ranks.summary_part import MOST_RANKS
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching

_HOST_KEYS = ("host_name", "hostname")


def summarize(explained: Explained, facts: Facts) -> RankSummary:
    """The summary of one rank, before anything is cut for size.

    Args:
        explained: What the trace means.
        facts: The measurements it was made from.
    """
    analysis, meta = explained.analysis, facts.trace.meta
    calls, work = collective_calls(facts), worked(facts)
    rank, source = _rank(facts, calls)
    info = meta.distributed
    return RankSummary(
        tool_version=tool_version(),
        file=meta.name,
        sha256=meta.sha256,
        rank=rank,
        rank_source=source,
        world_size=_whole(meta.world_size, MOST_RANKS),
        host=_host(meta.top),
        device=analysis.trace.device.name,
        device_kind=meta.device_kind,
        devices=max(len(facts.device.all), 1),
        versions={name: ".".join(map(str, version)) for name, version in facts.recording.versions.known.items()},
        origin_ns=meta.origin_ns + (meta.base_ns or 0),
        trust=analysis.trust.verdict,
        doubts=tuple(reason.message for reason in analysis.trust.reasons if reason.doubts),
        bound_by=analysis.summary.verdict.bound_by,
        verdict=analysis.summary.verdict.text,
        batch_size=facts.recording.collected.batch_size,
        core_wait_ratio=facts.recording.collected.core_wait_ratio,
        few_cores=_few_cores(meta.advisor),
        interrupted_ns=work.interrupted_ns,
        backend=info["backend"] if isinstance(info.get("backend"), str) else None,
        steps=_steps(facts, work.product_flops),
        other_loops=tuple(
            OtherLoopPart(
                number=one.number, dur_ns=one.dur_ns, saves=facts.transfer.state_beside_bytes([one.number]) is not None
            )
            for one in facts.time.unsteady.with_another_loop
        ),
        groups=calls.groups,
        stated_groups=calls.stated_groups,
        kinds=calls.kinds,
        collectives=_columns(facts, calls),
        tail_ns=_tail(facts, calls),
        kernels=work.rows,
        findings=tuple(
            FindingPart(
                id=one.id, rule=one.rule, title=one.title, severity=one.severity, ns_per_step=one.saving.expected_ns
            )
            for one in analysis.cards
        ),
    )


def _whole(value: Any, most: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def _rank(facts: Facts, calls: Calls) -> tuple[int | None, RankSource | None]:
    """What the trace states, else what the file's name says of a trace with collectives."""
    stated = _whole(facts.trace.meta.rank, MOST_RANKS - 1)
    if stated is not None:
        return stated, "distributedInfo"
    named = _whole(rank_in(facts.trace.meta.name), MOST_RANKS - 1) if len(calls.start_ns) else None
    return named, None if named is None else "file name"


def _host(top: dict[str, Any]) -> str | None:
    """A fingerprint of whose clock the rank goes by: the machine's name, or what `advisor collect` says of its clock."""
    name = next((top[key] for key in _HOST_KEYS if isinstance(top.get(key), str) and top[key]), None)
    collected = top.get("advisor")
    if name is None and isinstance(collected, dict) and isinstance(collected.get("clock"), str):
        return str(collected["clock"])[:12]
    # Names of machines are nobody's business; that two ranks share one is.
    return None if name is None else hashlib.sha256(name.encode()).hexdigest()[:12]


def _few_cores(collected: dict[str, Any]) -> bool:
    """Whether the rank may use fewer cores than its machine has ranks of the job, as `advisor collect` recorded both."""
    cores, ranks = (_whole(collected.get(name), MOST_RANKS) for name in ("usable_cores", "local_ranks"))
    return bool(cores and ranks and cores < ranks)


def _steps(facts: Facts, product_flops: Sequence[float | None]) -> tuple[StepPart, ...]:
    used, causes = facts.steps.used, facts.time.step_causes
    return tuple(
        StepPart(
            number=int(number),
            start_ns=int(start),
            dur_ns=int(dur),
            causes={cause: int(ns) for cause, ns in zip(CAUSES, row, strict=True) if ns},
            product_flops=flops,
        )
        for number, start, dur, row, flops in zip(
            used["number"].tolist(),
            used["start_ns"].tolist(),
            used["dur_ns"].tolist(),
            causes[list(CAUSES)].to_numpy().tolist(),
            product_flops,
            strict=True,
        )
    )


def _columns(facts: Facts, calls: Calls) -> CollectiveColumns:
    start, end = calls.start_ns, calls.start_ns + calls.dur_ns
    exposed, device = facts.time.waterfall.owned("communication"), facts.device.main
    begin = facts.steps.used["start_ns"].to_numpy()
    # What was issued before the first step queues into it.
    ready = np.maximum(calls.ready_ns, begin[0]) if len(start) else start
    step = begin.searchsorted(ready, side="right") - 1
    gaps = [int(begin[0]), *ready.tolist()[:-1]] if len(start) else []
    owned = _owned(facts, calls)
    return CollectiveColumns(
        step=step.tolist(),
        group=calls.group,
        kind=calls.kind,
        sequence=calls.sequence,
        peer=calls.peer,
        peer_place=calls.peer_place if any(place is not None for place in calls.peer_place) else None,
        sent_bytes=calls.sent_bytes,
        received_bytes=calls.received_bytes,
        start_ns=start.tolist(),
        dur_ns=calls.dur_ns.tolist(),
        ready_ns=None if (ready == start).all() else ready.tolist(),
        exposed_ns=exposed.overlap_with(_alone_from(start, end), end).tolist(),
        computing_ns=None if device is None else device.compute.overlap_with(start, end).tolist(),
        stream=calls.stream.tolist(),
        own_ns=_by_cause(owned, gaps, ready.tolist()),
        splits=calls.splits,
    )


def _alone_from(start: Int64Array, end: Int64Array) -> Int64Array:
    """From when on each row is in a collective that none that began before it is in still, shape (rows,): time counts once.

    Collectives of several streams run beside each other, and the messages of a batch are one kernel.
    """
    order = np.argsort(start, kind="stable")
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[order])[:-1]) if len(end) else end
    alone = np.empty_like(start)
    alone[order] = np.minimum(np.maximum(start[order], before), end[order])
    return alone


def _owned(facts: Facts, calls: Calls) -> dict[str, IntervalSet]:
    """What each cause owns. On a host a call that hands a collective over is the rank's own work until that begins."""
    owned = {cause: facts.time.waterfall.owned(cause) for cause in CAUSES}
    thread = facts.host.main_thread
    if facts.device.main is None and thread is not None:
        frame = facts.trace.collectives
        mine = matching(frame["name"], CALL.match) & (frame["thread"].to_numpy() == thread)
        calling = owned["communication"] & IntervalSet.of_rows(frame, mine)
        calling = calling - IntervalSet(calls.start_ns, calls.start_ns + calls.dur_ns)
        owned["communication"] = owned["communication"] - calling
        owned["framework"] = owned["framework"] | calling
    return owned


def _by_cause(owned: dict[str, IntervalSet], starts: Sequence[int], ends: Sequence[int]) -> dict[str, list[int]]:
    """By cause, what it owns of each gap; causes that own nothing are left out."""
    start, end = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    parts = {cause: spans.overlap_with(start, end) for cause, spans in owned.items()} if len(start) else {}
    return {cause: part.tolist() for cause, part in parts.items() if part.any()}


def _tail(facts: Facts, calls: Calls) -> dict[str, int]:
    used = facts.steps.used
    if not len(used):
        return {}
    first = int(used["start_ns"].iloc[0])
    since = max(int(calls.ready_ns[-1]), first) if len(calls.ready_ns) else first
    last = IntervalSet.of([(since, int(used["end_ns"].iloc[-1]))])
    parts = {cause: (spans & last).total_ns for cause, spans in _owned(facts, calls).items()}
    return {cause: ns for cause, ns in parts.items() if ns}
