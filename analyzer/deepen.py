"""Evidence that HolisticTraceAnalysis adds to findings, on request: it takes seconds where the rules take a tenth of one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from analyzer import hta
from analyzer.analysis import Analysis, FindingDocument, TableColumn, TableEvidence
from traces.trace import Capability, Trace

# Which of HTA's analyses speaks to which rule (rules.md, families ID and CO).
_QUEUE_RULES = ("ID001", "ID002")
_OVERLAP_RULES = ("CO001", "CO002")
_STREAMS_SHOWN = 4


def concerned(analysis: Analysis) -> set[str]:
    """Codes of the findings that HTA can say more of."""
    return {finding.rule for finding in analysis.findings} & {*_QUEUE_RULES, *_OVERLAP_RULES}


def deepen(analysis: Analysis, trace: Trace) -> Analysis:
    """The same document with HTA's evidence beside the findings it concerns.

    Where HTA is not installed the findings say so as a caveat; nothing else changes.

    Args:
        analysis: The document.
        trace: The trace it was made from.
    """
    codes = concerned(analysis)
    if not codes:
        return analysis
    reason = hta.missing()
    if reason is not None:
        return _each(analysis, codes, lambda finding: _with_caveat(finding, f"Not looked at in depth: {reason}."))
    queue = _queue(trace) if codes & {*_QUEUE_RULES} and Capability.LAUNCHES in trace.capabilities else ()
    overlap = _overlap(trace) if codes & {*_OVERLAP_RULES} else ()

    def add(finding: FindingDocument) -> FindingDocument:
        more = queue if finding.rule in _QUEUE_RULES else overlap
        return msgspec.structs.replace(finding, evidence=(*finding.evidence, *more))

    return _each(analysis, codes, add)


def _each(analysis: Analysis, codes: set[str], change: Callable[[FindingDocument], FindingDocument]) -> Analysis:
    findings = tuple(change(finding) if finding.rule in codes else finding for finding in analysis.findings)
    return msgspec.structs.replace(analysis, findings=findings)


def _with_caveat(finding: FindingDocument, text: str) -> FindingDocument:
    return msgspec.structs.replace(finding, caveats=(*finding.caveats, text))


def _queue(trace: Trace) -> tuple[TableEvidence, ...]:
    """Queue lengths by stream, and the launches in a line."""
    tables = []
    queues = hta.queue_lengths(trace)
    if queues:
        tables.append(
            TableEvidence(
                title="work waiting on each stream, whole trace (HTA)",
                columns=(
                    TableColumn(title="stream", unit="text"),
                    TableColumn(title="median", unit="count"),
                    TableColumn(title="longest", unit="count"),
                    TableColumn(title=f"full ({hta.QUEUE_LIMIT:,})", unit="ns"),
                ),
                rows=tuple(
                    (str(queue.stream), queue.median, queue.longest, queue.blocked_ns)
                    for queue in queues[:_STREAMS_SHOWN]
                ),
            )
        )
    launches = hta.launch_statistics(trace)
    if launches is not None:
        tables.append(
            TableEvidence(
                title="launches, medians over the whole trace (HTA)",
                columns=(
                    TableColumn(title="launches", unit="count"),
                    TableColumn(title="call", unit="ns"),
                    TableColumn(title="delay", unit="ns"),
                    TableColumn(title="work", unit="ns"),
                    TableColumn(title="call longer than work", unit="count"),
                ),
                rows=(
                    (
                        launches.launches,
                        launches.host_ns,
                        launches.delay_ns,
                        launches.device_ns,
                        launches.longer_on_host,
                    ),
                ),
            )
        )
    return tuple(tables)


def _overlap(trace: Trace) -> tuple[TableEvidence, ...]:
    ratio = hta.overlap_ratio(trace)
    if ratio is None:
        return ()
    return (
        TableEvidence(
            title="collectives with compute beside them, whole trace (HTA)",
            columns=(TableColumn(title="overlap", unit="ratio"),),
            rows=((ratio,),),
        ),
    )
