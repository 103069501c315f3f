"""The timeline that can be zoomed: what its script is given, and the words around it for those who run none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from markupsafe import Markup

from analyzer.analysis import Analysis, Intervals
from analyzer.page.findings.groups import unit
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun, label
from analyzer.report.html.findings import anchor
from analyzer.report.html.prose import embedded
from analyzer.units import count, duration

ELEMENT = "advisor-lanes"


@dataclass(frozen=True)
class Viewer:
    """What the template shows; `lanes` and `claims` are JSON for its script."""

    head: str
    noun: Noun
    left_out: str
    lanes: Markup
    claims: Markup


class _Claim(msgspec.Struct, frozen=True):
    """Where a finding's time lies in the step: the longest pieces, and of all of them how many and how long."""

    rule: str
    anchor: str
    title: str
    spans: list[tuple[int, int]]
    pieces: int
    total_ns: int


def viewer(analysis: Analysis, lanes: bytes | None) -> Viewer | None:
    """The viewer of the step that the page draws.

    Args:
        analysis: The document.
        lanes: The events of its step as `analyzer.views.slim_lanes` writes them; None where the trace was not at hand.
    """
    if lanes is None or not analysis.timeline.dur_ns:
        return None
    gone = msgspec.json.decode(lanes, type=_Gone)
    noun = unit(analysis)
    left = (
        f"{count(gone.left_out, 'shorter event')}, {duration(gone.left_out_ns)} together, would not fit into this page."
    )
    return Viewer(
        head="The whole trace event by event"
        if noun == "recording"
        else label(f"Step {gone.step} event by event", noun),
        noun=noun,
        left_out=left if gone.left_out else "",
        lanes=embedded(lanes),
        claims=embedded(msgspec.json.encode(list(_claims(analysis)))),
    )


class _Gone(msgspec.Struct):
    """The part of the lanes that is said in words."""

    step: int
    left_out: int
    left_out_ns: int


def _claims(analysis: Analysis) -> Iterator[_Claim]:
    for finding in analysis.cards:
        there = [one for one in finding.evidence if isinstance(one, Intervals) and one.step == analysis.timeline.step]
        spans = sorted(span for one in there for span in one.spans)
        if spans:
            pieces, total_ns = sum(one.pieces for one in there), sum(one.total_ns for one in there)
            yield _Claim(
                safe.name(finding.rule, 10), anchor(finding), safe.name(finding.title, 80), spans, pieces, total_ns
            )
