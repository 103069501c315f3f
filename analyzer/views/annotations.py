"""The diagnosis as events of the trace itself: one track of gaps with their causes, one of what the findings explain.

Perfetto and chrome://tracing show them as a process of their own, on the same clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil, ulp
from typing import Any, get_args

import msgspec
import numpy as np

from analyzer.analysis import Analysis, FindingDocument
from analyzer.cause_names import Cause
from analyzer.facts import Facts
from analyzer.page.findings import savings
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import CAUSES, meaning
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration, share

PROCESS = "advisor"
_GAPS, _FINDINGS = 1, 2
_WORK = ("compute", "communication", "copy")
# Shorter gaps are the device's own pace between two kernels; nobody can see or change them.
_SHORTEST_NS = 1_000
_MOST_GAPS = 200_000


def events(facts: Facts, analysis: Analysis, claims: Mapping[str, IntervalSet]) -> Iterator[bytes]:
    """The events to add, each a JSON object; times are on the file's own clock.

    Args:
        facts: The measurements, whose gaps are drawn.
        analysis: The document, whose findings are.
        claims: For each finding the time it explains.
    """
    origin = facts.trace.meta.origin_ns
    yield from _names(facts)
    for event in (
        *_apart(_gaps(facts), origin),
        *_apart(_claims(analysis, claims), origin),
    ):
        start, dur = event.pop("start_ns"), event.pop("dur_ns")
        head = {
            "ph": "X",
            "cat": PROCESS,
            "pid": PROCESS,
            "ts": _microseconds(origin + start),
            "dur": _microseconds(dur),
        }
        yield msgspec.json.encode({**head, **event})


def _names(facts: Facts) -> Iterator[bytes]:
    what = "GPU gaps and their causes" if facts.device.main is not None else "time outside operators and its causes"
    for name, thread, args in (
        ("process_name", 0, {"name": "advisor: the diagnosis"}),
        ("process_sort_index", 0, {"sort_index": -1}),
        ("thread_name", _GAPS, {"name": what}),
        ("thread_sort_index", _GAPS, {"sort_index": 1}),
        ("thread_name", _FINDINGS, {"name": "findings: the time each explains"}),
        ("thread_sort_index", _FINDINGS, {"sort_index": 2}),
    ):
        yield msgspec.json.encode({"ph": "M", "name": name, "pid": PROCESS, "tid": thread, "args": args})


def _apart(track: list[dict[str, Any]], origin: int) -> list[dict[str, Any]]:
    """The events of a track in order, those that touch shortened by what a viewer may round.

    Viewers read times as floating-point microseconds. Where the end of an event then lies a nanosecond behind the next one's
    beginning, Perfetto drops the next: 2,914 of 21,671 on a trace of HTA's.
    """
    for event, following in pairwise(track):
        start = origin + event["start_ns"]
        end, following_start = start + event["dur_ns"], origin + following["start_ns"]
        if not any(time % 1_000 for time in (start, end, following_start)):
            continue  # whole microseconds are exact
        rounded_ns = ceil(ulp(following_start / 1_000) * 1_000) + 1
        event["dur_ns"] = max(min(end, following_start - 2 * rounded_ns) - start, 0)
    return track


def _microseconds(ns: int) -> msgspec.Raw:
    """Nanoseconds as the trace counts, without the rounding of a float."""
    sign, size = ("-", -ns) if ns < 0 else ("", ns)
    return msgspec.Raw(f"{sign}{size // 1000}.{size % 1000:03d}".encode())


def _gaps(facts: Facts) -> list[dict[str, Any]]:
    """Every gap of the used steps by the cause that owns it, in order; the longest where there are too many."""
    on_device = facts.device.main is not None
    found: list[tuple[int, int, Cause]] = []
    for cause in get_args(Cause):
        if cause not in (_WORK if on_device else ("compute",)):
            owned = facts.time.waterfall.owned(cause)
            found += [(start, end, cause) for start, end in owned.pairs() if end - start >= _SHORTEST_NS]
    if len(found) > _MOST_GAPS:
        least = int(np.partition([start - end for start, end, _ in found], _MOST_GAPS)[_MOST_GAPS])
        found = [gap for gap in found if gap[0] - gap[1] < least]
    return [
        {
            "tid": _GAPS,
            "name": CAUSES[cause],
            "start_ns": start,
            "dur_ns": end - start,
            "args": {"cause": cause, "meaning": meaning(cause, on_device)},
        }
        for start, end, cause in sorted(found)
    ]


def _claims(analysis: Analysis, claims: Mapping[str, IntervalSet]) -> list[dict[str, Any]]:
    """What each finding explains; time that several claim is shown under the best of them, so that none overlap."""
    documents = {finding.id: finding for finding in analysis.findings}
    taken = EMPTY
    found: list[dict[str, Any]] = []
    for identity, claimed in claims.items():
        finding = documents.get(identity)
        if finding is None:
            continue
        mine, taken = claimed - taken, taken | claimed
        args = _facts(finding)
        name = f"{safe.name(finding.rule, 12)} {safe.name(finding.title, 80)}"
        found += [
            {"tid": _FINDINGS, "name": name, "start_ns": start, "dur_ns": end - start, "args": args}
            for start, end in mine.pairs()
        ]
    return sorted(found, key=lambda event: (event["start_ns"], event["dur_ns"]))


def _facts(finding: FindingDocument) -> dict[str, str]:
    saving = finding.saving
    args = {
        "finding": finding.id,
        "saves": f"{savings.word(saving.kind)} {duration(saving.stated_ns)} {savings.each(finding)}, {share(saving.stated_ratio)}"
        + savings.beside(saving),
        "confidence": finding.confidence,
        "why": safe.clean(finding.why[: safe.PROSE_LIMIT]),
    }
    if finding.location is not None:
        function = (
            safe.name(finding.location.function) + finding.location.begins_text if finding.location.function else ""
        )
        place = safe.name(finding.location.file) + finding.location.line_text
        args["where"] = place if finding.location.line is not None or not function else f"{function}, {place}"
    if finding.saving.overlaps_with:
        args["shares time with"] = ", ".join(finding.saving.overlaps_with)
    return args
