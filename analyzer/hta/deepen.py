"""Evidence that HolisticTraceAnalysis adds to findings, on request: it takes seconds where the rules take a tenth of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from analyzer.analysis import Analysis, Column, FindingDocument, Table
from analyzer.analysis.evidence import Unit
from analyzer.engine.plugins import load_rules
from analyzer.hta import bridge, critical_path, kernel_sequences
from analyzer.rule import Rule, Topic
from traces.trace import Capability, Trace

# Which of HTA's analyses speaks to a rule's findings is the rule's to say.
_TOPICS: frozenset[Topic] = frozenset({"queue", "sequences", "overlap"})
_STREAMS_SHOWN = 4
_SEQUENCES_SHOWN = 6
_KERNELS_SHOWN = 4
# HTA's words for what a part of the path is bound by.
_BOUND_BY = {
    "cpu_bound": "the host",
    "gpu_compute_bound": "kernels",
    "gpu_kernel_kernel_overhead": "gaps between kernels",
    "gpu_kernel_launch_overhead": "launching",
    "gpu_memory_bound": "copies",
}


def concerned(analysis: Analysis, rules: Sequence[Rule] | None = None) -> dict[str, frozenset[Topic]]:
    """What HTA can say more of: the topics of each rule with a finding, by its code.

    Args:
        analysis: The document.
        rules: The catalogue, where it is loaded already.
    """
    found = {finding.rule for finding in analysis.findings}
    if not found:
        return {}
    topics = {rule.meta.code: rule.meta.topics & _TOPICS for rule in (load_rules() if rules is None else rules)}
    return {code: topics[code] for code in sorted(found) if topics.get(code)}


def deepen(analysis: Analysis, trace: Trace, rules: Sequence[Rule] | None = None) -> Analysis:
    """The same document with HTA's evidence beside the findings it concerns.

    Where HTA is not installed the findings say so as a caveat; nothing else changes.

    Args:
        analysis: The document.
        trace: The trace it was made from.
        rules: The catalogue, where it is loaded already.
    """
    topics = concerned(analysis, rules)
    codes, every = set(topics), frozenset[Topic]().union(*topics.values())
    if not codes:
        return analysis
    reason = bridge.missing()
    if reason is not None:
        return _each(analysis, codes, lambda finding: _with_caveat(finding, f"Not looked at in depth: {reason}."))
    queue = _queue(trace) if "queue" in every and Capability.LAUNCHES in trace.capabilities else ()
    overlap = _overlap(trace) if "overlap" in every else ()
    path, caveats = _path(trace) if "queue" in every else ((), ())

    def add(finding: FindingDocument) -> FindingDocument:
        mine = topics[finding.rule]
        if "overlap" in mine:
            return msgspec.structs.replace(finding, evidence=(*finding.evidence, *overlap))
        sequences, said = _sequences(trace, finding) if "sequences" in mine else ((), ())
        return msgspec.structs.replace(
            finding,
            evidence=(*finding.evidence, *sequences, *queue, *path),
            caveats=(*finding.caveats, *said, *caveats),
        )

    return _each(analysis, codes, add)


def _sequences(trace: Trace, finding: FindingDocument) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The kernels that follow from each op of a finding's sequence; where HTA cannot tell, why."""
    reason = kernel_sequences.unavailable(trace)
    ops = frozenset(
        str(row[0])
        for piece in finding.evidence
        if isinstance(piece, Table) and [column.title for column in piece.columns] == ["op"]
        for row in piece.rows
    )
    found = None if reason is not None else kernel_sequences.kernel_sequences(trace, ops)
    if not found:
        reason = reason or "HolisticTraceAnalysis could not follow these ops to their kernels"
        return (), (f"No frequent kernel sequences: {reason}.",)
    columns: Sequence[tuple[str, Unit]] = (
        ("op", "text"),
        ("its kernels, in order", "text"),
        ("times", "count"),
        ("op", "ns"),
        ("kernels", "ns"),
    )
    rows = tuple(
        (one.op, _listed(one.kernels), one.count, one.op_ns // one.count, one.kernel_ns // one.count)
        for one in found[:_SEQUENCES_SHOWN]
    )
    title = f"frequent kernel sequences of these ops, first {kernel_sequences.MOST_OPS}, mean times (HTA)"
    return (_table(title, columns, rows),), ()


def _listed(kernels: tuple[str, ...]) -> str:
    more = len(kernels) - _KERNELS_SHOWN
    return ", ".join(kernels[:_KERNELS_SHOWN]) + (f", {more} more" if more > 0 else "")


def _path(trace: Trace) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The critical path of one step as evidence; where there is none, why."""
    reason = critical_path.unavailable(trace)
    parts = None if reason is not None else critical_path.critical_path(trace)
    if not parts:
        reason = reason or "HolisticTraceAnalysis could not make a graph of the middle step"
        return (), (f"No critical path: {reason}.",)
    total = sum(parts.values())
    rows = tuple((_BOUND_BY.get(name, name.replace("_", " ")), ns, ns / total) for name, ns in parts.items())
    columns: Sequence[tuple[str, Unit]] = (
        ("bound by", "text"),
        ("time", "ns"),
        ("of the path", "ratio"),
    )
    title = "critical path of the middle step, by the events on it (HTA)"
    return (_table(title, columns, rows),), ()


def _each(analysis: Analysis, codes: set[str], change: Callable[[FindingDocument], FindingDocument]) -> Analysis:
    findings = tuple(change(finding) if finding.rule in codes else finding for finding in analysis.findings)
    return msgspec.structs.replace(analysis, findings=findings)


def _with_caveat(finding: FindingDocument, text: str) -> FindingDocument:
    return msgspec.structs.replace(finding, caveats=(*finding.caveats, text))


def _queue(trace: Trace) -> tuple[Table, ...]:
    """Queue lengths by stream, and the launches in a line."""
    tables = []
    queues = bridge.queue_lengths(trace)
    if queues:
        tables.append(
            _table(
                "work waiting on each stream, whole trace (HTA)",
                (
                    ("stream", "text"),
                    ("median", "count"),
                    ("longest", "count"),
                    (f"full ({bridge.QUEUE_LIMIT:,})", "ns"),
                ),
                [(str(one.stream), one.median, one.longest, one.blocked_ns) for one in queues[:_STREAMS_SHOWN]],
            )
        )
    launches = bridge.launch_statistics(trace)
    if launches is not None:
        tables.append(
            _table(
                "launches, medians over the whole trace (HTA)",
                (
                    ("launches", "count"),
                    ("call", "ns"),
                    ("delay", "ns"),
                    ("work", "ns"),
                    ("call longer than work", "count"),
                ),
                [(launches.launches, launches.host_ns, launches.delay_ns, launches.device_ns, launches.longer_on_host)],
            )
        )
    return tuple(tables)


def _overlap(trace: Trace) -> tuple[Table, ...]:
    ratio = bridge.overlap_ratio(trace)
    if ratio is None:
        return ()
    return (_table("collectives with compute beside them, whole trace (HTA)", (("overlap", "ratio"),), [(ratio,)]),)


def _table(
    title: str, columns: Sequence[tuple[str, Unit]], rows: Iterable[tuple[str | float | int | None, ...]]
) -> Table:
    return Table(title=title, columns=tuple(Column(title=name, unit=unit) for name, unit in columns), rows=tuple(rows))
