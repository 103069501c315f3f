"""Rules speak of steps; where a trace holds requests, or was taken as one recording, their sentences are put in its words.

One place instead of one per rule. What the program writes (`prof.step()`, code) and what a further recording needs ("at least 3
steps") stay as they are: only words for the steps that were measured change. Fixes speak of the program: of one that trains nothing
they do not say that it does.
"""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.facts.isolation import attempt
from analyzer.finding import Advice, Bar, Bars, Column, Evidence, Finding, Outcome, Table
from analyzer.page.words.of_steps import Noun, put


def speaks_of_training(facts: Facts) -> bool:
    """Whether words of training fit what was recorded; they stay where that cannot be told.

    Args:
        facts: The measurements.
    """
    return not (facts.steps.requests or attempt(lambda: facts.model.infers, instead=False))


def in_words(said: Finding | Outcome, noun: Noun, *, trains: bool = True) -> Finding | Outcome:
    """A finding, or the reason why there is none, in the trace's words.

    Args:
        said: What a rule said.
        noun: What the steps are.
        trains: Whether the program may train.
    """
    if noun == "step" and trains:
        return said
    if isinstance(said, Outcome):
        return msgspec.structs.replace(said, reason=put(said.reason, noun, trains=trains))
    return msgspec.structs.replace(
        said,
        why=put(said.why, noun, trains=trains),
        saving=msgspec.structs.replace(said.saving, basis=put(said.saving.basis, noun, trains=trains)),
        fix=said.fix if trains else tuple(_advised(advice) for advice in said.fix),
        verify=put(said.verify, noun, trains=trains),
        caveats=tuple(put(caveat, noun, trains=trains) for caveat in said.caveats),
        evidence=tuple(_shown(item, noun, trains=trains) for item in said.evidence),
    )


def _advised(advice: Advice) -> Advice:
    """A fix of a program that trains nothing; its steps are the program's own."""
    return msgspec.structs.replace(advice, note=put(advice.note, "step", trains=False))


def _shown(item: Evidence, noun: Noun, *, trains: bool) -> Evidence:
    def said(text: str) -> str:
        return put(text, noun, trains=trains)

    title = said(item.title)
    if isinstance(item, Bars):
        bars = tuple(Bar(said(bar.label), bar.value) for bar in item.bars)
        return msgspec.structs.replace(item, title=title, bars=bars)
    if not isinstance(item, Table):
        return msgspec.structs.replace(item, title=title)
    columns = tuple(Column(said(column.title), column.unit) for column in item.columns)
    # A first cell is a label of ours or a name of the program's; the program's names hold no such words.
    rows = tuple(
        tuple(said(cell) if isinstance(cell, str) else cell for cell in row[:1]) + row[1:] for row in item.rows
    )
    return msgspec.structs.replace(item, title=title, columns=columns, rows=rows)
