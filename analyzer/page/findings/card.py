"""One finding as every display shows it: its words, each derived once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analyzer.analysis import Analysis, FindingDocument, Location
from analyzer.page.findings import savings
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import MARKS, SEVERITIES
from analyzer.units import duration, share


@dataclass(frozen=True)
class Card:
    """The words of a finding, cleaned. What is long (why, fixes, evidence) is drawn from `finding`.

    Args:
        finding: What it is of.
        mark: `▲`: the severity as a character.
        word: `High`.
        rule: Code.
        title: What is wrong.
        worth: `saves at most 142 ms a step`, or that it saves nothing by itself.
        amount: `142 ms a step`; empty where it saves nothing by itself.
        share: `36 %`; empty likewise.
        likely: `27 ms (18 %) likely`; empty where no more is known than the amount.
        lowered: Why the severity is lower than the saving alone would make it; empty where it is not.
        briefly: The same in a few words.
        sure: `high confidence`.
        seen: `in 4 of 6 steps`.
        place: `train.py:88`; empty without a line of the user's.
        function: `train_step, from line 80`; empty where unknown.
        explains: The rules of the more general findings that this one stands for.
        shares: The rules whose cards count some of the same time.
        measured: How often such figures came true and what its change brought on this program, sentences; empty where nobody
            knows.
        basis: Where the amount comes from, a sentence; empty where nothing is claimed.
    """

    finding: FindingDocument
    mark: str
    word: str
    rule: str
    title: str
    worth: str
    amount: str
    share: str
    likely: str
    lowered: str
    briefly: str
    sure: str
    seen: str
    place: str
    function: str
    explains: tuple[str, ...]
    shares: tuple[str, ...]
    measured: str
    basis: str

    @property
    def beside(self) -> str:
        """`; 27 ms (18 %) likely`; empty where nothing more is known."""
        return f"; {self.likely}" if self.likely else ""

    @property
    def where(self) -> str:
        """`train.py:88`; `train_step in train.py, from line 80` where the line that ran is unknown."""
        location = self.finding.location
        if location is not None and location.line is None and location.function:
            return f"{safe.name(location.function, 60)} in {self.place}{location.begins_text}"
        return self.place


def card_of(finding: FindingDocument, analysis: Analysis) -> Card:
    """The card of a finding among the others of its document."""
    general = {other.id: other.rule for other in analysis.findings if finding.id in other.explained_by}
    sharing = [identity.partition("-")[0] for identity in finding.saving.overlaps_with if identity not in general]
    saving = finding.saving
    saves = saving.stated_ns > 0
    return Card(
        finding=finding,
        mark=MARKS[finding.severity],
        word=SEVERITIES[finding.severity],
        rule=safe.name(finding.rule, 12),
        title=safe.name(finding.title, 80),
        worth=savings.worth(finding),
        amount=f"{duration(saving.stated_ns)} {savings.each(finding)}" if saves else "",
        share=share(saving.stated_ratio) if saves else "",
        likely=savings.usually(saving),
        lowered=lowered(finding),
        briefly=lowered(finding, briefly=True),
        sure=f"{finding.confidence} confidence",
        seen=savings.seen(finding),
        place=place(finding.location),
        function=_function(finding.location),
        explains=_codes(general.values()),
        shares=_codes(sharing),
        measured=" ".join(filter(None, (savings.calibrated(finding), savings.tried(finding)))),
        basis=f"{savings.basis(saving)}." if saves else "",
    )


def lowered(finding: FindingDocument, *, briefly: bool = False) -> str:
    """`lowered from high: trust is caution, as ...`, or `lowered: trust is caution`; empty where it is not."""
    if finding.lowered_from is None:
        return ""
    because = finding.lowered_because or "see when it may be wrong"
    if briefly:
        return safe.name(f"lowered: {because.partition(',')[0]}", 80)
    return safe.name(f"lowered from {finding.lowered_from}: {because}", 160)


def place(location: Location | None) -> str:
    """`train.py:88`; empty without a place."""
    return "" if location is None else f"{safe.name(location.file, 80)}{location.line_text}"


def _function(location: Location | None) -> str:
    if location is None or not location.function:
        return ""
    return f"{safe.name(location.function, 60)}{location.begins_text}"


def _codes(rules: Iterable[str]) -> tuple[str, ...]:
    """Each rule once, in order."""
    return tuple(dict.fromkeys(safe.name(rule, 12) for rule in rules))
