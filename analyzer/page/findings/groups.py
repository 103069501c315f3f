"""The findings in groups, and their counts: the same in every format."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import CARD_RATIO, Analysis, FindingDocument
from analyzer.page.recording import is_summary
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun, label

# The heading of what stands below the cards, and what that is.
NOTES = "Notes"
LIMIT = f"{CARD_RATIO * 100:.0f} %"


@dataclass(frozen=True)
class Groups:
    """The findings, each in one group.

    Args:
        to_act_on: Worth a card, best first.
        accepted: Worth a card, but the team lives with them.
        explained: Others stand for these: more specific ones, or one with the same fix.
        notes: Too small for a card, or with nothing to save on their own.
        told_with_trust: How many of the notes say no more than a reason of trust does; they are not listed again.
    """

    to_act_on: tuple[FindingDocument, ...]
    accepted: tuple[FindingDocument, ...]
    explained: tuple[FindingDocument, ...]
    notes: tuple[FindingDocument, ...]
    told_with_trust: int

    @property
    def counts(self) -> str:
        """`4 to act on, 1 accepted, 1 explained, 6 notes`; empty where nothing was found."""
        noted = len(self.notes)
        named = (
            (len(self.to_act_on), "to act on"),
            (len(self.accepted), "accepted"),
            (len(self.explained), "explained"),
            (noted, "note" if noted == 1 else "notes"),
        )
        found = [f"{number:,} {words}" for number, words in named if number]
        return ", ".join(found if self.to_act_on or not found else ["0 to act on", *found])

    @property
    def also_with_trust(self) -> str:
        """`; 1 more stands under the notes on trust`, to follow what the notes are; empty where none does."""
        many = self.told_with_trust
        return f"; {many} more {'stands' if many == 1 else 'stand'} with the reasons on trust" if many else ""


def grouped(analysis: Analysis) -> Groups:
    """The findings of a document by what is to be done about them."""
    cards = {finding.id for finding in analysis.cards}
    explained = tuple(finding for finding in analysis.findings if finding.explained_by)
    notes = tuple(finding for finding in analysis.findings if finding.id not in cards and not finding.explained_by)
    return Groups(
        to_act_on=tuple(finding for finding in analysis.cards if finding.accepted is None),
        accepted=tuple(finding for finding in analysis.cards if finding.accepted is not None),
        explained=explained,
        notes=notes,
        told_with_trust=len(notes) - len(analysis.minor),
    )


def first_to_change(analysis: Analysis) -> FindingDocument | None:
    """The finding to begin with: the best that nobody has accepted and that says what to change; None where there is none."""
    return next((finding for finding in grouped(analysis).to_act_on if finding.fix), None)


def unit(analysis: Analysis) -> Noun:
    """`step`, `request`; `recording` where the whole trace is taken as one."""
    steps = analysis.trace.steps
    return steps.noun if steps.source != "whole-trace" else "recording"


def words(text: str, analysis: Analysis) -> str:
    """A label that speaks of steps in the words of the recording."""
    return label(text, unit(analysis))


def each(analysis: Analysis, whole: str = "in all") -> str:
    """`a step` or `a request`; `whole` where the trace has neither."""
    steps = analysis.trace.steps
    return f"a {steps.noun}" if steps.source != "whole-trace" else whole


def no_card(analysis: Analysis) -> str:
    """That nothing is worth a card, without a full stop; of a summary, which holds none, what its trace showed."""
    if is_summary(analysis):
        said = "; ".join(analysis.trace.notes)
        return safe.clean(said[:1].upper() + said[1:])
    return f"No finding is worth {LIMIT} of the {unit(analysis)} or more"


def notes_are(analysis: Analysis) -> str:
    """What the notes are, to follow their heading; what one saves at most may be more than what is likely."""
    return f"likely under {LIMIT} of the {unit(analysis)} each, or no saving of their own"


def counts(analysis: Analysis) -> str:
    """`4 to act on, 1 explained, 6 notes`; empty where nothing was found."""
    return grouped(analysis).counts
