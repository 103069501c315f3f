"""From a finding to the proof: where to change what, how to record again, how to compare; as commands to copy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.page.findings import savings
from analyzer.page.findings.card import Card
from analyzer.page.words.safe import clean

AFTER = "after.json"
# `...` stands for an argument that was not recorded; nobody can run it as it is.
_LEFT_OUT = "..."
_OUTPUTS = ("-o", "--output")


@dataclass(frozen=True)
class Proof:
    """What to do, in order.

    Args:
        place: Where the change belongs, where it is known.
        record: The command that records the changed program; empty where nobody knows how it was recorded.
        record_note: What to mind when recording.
        compare: The command that says whether it helped.
        expected: What the finding promised.
    """

    place: str | None
    record: str
    record_note: str
    compare: str
    expected: str


def proof(card: Card, trace: str, recorded_by: Sequence[str]) -> Proof:
    """The way from a finding to its proof.

    Args:
        card: The finding.
        trace: Path of the trace that was explained.
        recorded_by: The command that recorded it, word by word; empty where nobody knows.
    """
    words = _into(AFTER, recorded_by)
    note = "As this trace was recorded: the same options, machine and number of steps."
    if _LEFT_OUT in recorded_by:
        note = "`...` stands for an argument of yours that was not recorded. " + note
    if not words:
        note = f"Record it as you recorded this trace, into {AFTER}: the same options, machine and number of steps."
    saves = "no time of its own"
    if card.amount:
        saves = f"{savings.word(card.finding.saving.kind)} {card.amount} ({card.share})"
    return Proof(
        place=card.where,
        record=clean(shlex.join(words).replace(f"'{_LEFT_OUT}'", _LEFT_OUT)),
        record_note=note,
        compare=clean(shlex.join(["advisor", "compare", trace, AFTER])),
        expected=f"Promised for {card.rule}: {saves}.",
    )


def _into(path: str, words: Sequence[str]) -> list[str]:
    """The command with another output; empty where it is none of ours. A script's own arguments, behind `--`, are left alone."""
    if list(words[:2]) != ["advisor", "collect"]:
        return []
    border = words.index("--") if "--" in words else len(words)
    ours = list(words[2:border])
    kept = [
        word
        for before, word in zip(["", *ours], ours, strict=False)
        if word not in _OUTPUTS and before not in _OUTPUTS and not word.startswith("--output=")
    ]
    return [*words[:2], "-o", path, *kept, *words[border:]]
