"""Rules speak of steps; where a trace holds requests, or was taken as one recording, their sentences are put in its words.

One place instead of one per rule. What the program writes (`prof.step()`, code) and what a further recording needs ("at least 3
steps") stay as they are: only words for the steps that were measured change. Fixes speak of the program and are left alone.
"""

from __future__ import annotations

import msgspec

from analyzer.finding import Bar, Bars, Column, Evidence, Finding, Outcome, Table
from analyzer.page.words.of_steps import Noun, put


def in_words(said: Finding | Outcome, noun: Noun) -> Finding | Outcome:
    """A finding, or the reason why there is none, in the trace's words."""
    if noun == "step":
        return said
    if isinstance(said, Outcome):
        return msgspec.structs.replace(said, reason=put(said.reason, noun))
    return msgspec.structs.replace(
        said,
        why=put(said.why, noun),
        saving=msgspec.structs.replace(said.saving, basis=put(said.saving.basis, noun)),
        verify=put(said.verify, noun),
        caveats=tuple(put(caveat, noun) for caveat in said.caveats),
        evidence=tuple(_shown(item, noun) for item in said.evidence),
    )


def _shown(item: Evidence, noun: Noun) -> Evidence:
    title = put(item.title, noun)
    if isinstance(item, Bars):
        bars = tuple(Bar(put(bar.label, noun), bar.value) for bar in item.bars)
        return msgspec.structs.replace(item, title=title, bars=bars)
    if not isinstance(item, Table):
        return msgspec.structs.replace(item, title=title)
    columns = tuple(Column(put(column.title, noun), column.unit) for column in item.columns)
    # A first cell is a label of ours or a name of the program's; the program's names hold no such words.
    rows = tuple(
        tuple(put(cell, noun) if isinstance(cell, str) else cell for cell in row[:1]) + row[1:] for row in item.rows
    )
    return msgspec.structs.replace(item, title=title, columns=columns, rows=rows)
