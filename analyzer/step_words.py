"""Rules speak of steps; where a trace holds requests, or was taken as one recording, their sentences are put in its words.

One place instead of one per rule. What the program writes (`prof.step()`, code) and what a further recording needs ("at least 3
steps") stay as they are: only words for the steps that were measured change. Fixes speak of the program and are left alone.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from analyzer.finding import Bar, Bars, Column, Evidence, Finding, Outcome, Table

Noun = Literal["step", "request", "recording"]

# Each with what it becomes where everything recorded is taken as one; a request's are the same with its noun.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bper used step\b"), "in the recording"),
    (re.compile(r"\b[Ii]n (?:[\d,]+ of )?[\d,]+ steps?\b"), "in the recording"),
    (re.compile(r"\bthe recorded steps\b"), "the recording"),
    (re.compile(r"\ball used steps\b"), "the recording"),
    (re.compile(r"\bthe used steps?\b"), "the recording"),
    (re.compile(r"\bthe steps?\b(?! themselves)"), "the recording"),
    (re.compile(r"\beach step\b(?! (?:waits|takes))"), "the recording"),
    (re.compile(r"\bmean step\b"), "whole recording"),
    (re.compile(r"(?<!\bas )\ba step\b(?! later)"), "in all"),
)
# What serves requests does not train: the same sentences of the program.
_NO_TRAINING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\btraining (process|thread)\b"), r"main \1"),
    (re.compile(r"\btraining (waits)\b"), r"the program \1"),
    (re.compile(r"\bTraining (waits)\b"), r"The program \1"),
    (re.compile(r"\b(beside|with) training\b"), r"\1 the program"),
)
_CODE = re.compile(r"(`[^`]*`)")


def put(text: str, noun: Noun) -> str:
    """A sentence on the used steps, in the trace's words."""
    if noun == "step":
        return text
    return "".join(part if part.startswith("`") else _plain(part, noun) for part in _CODE.split(text))


def _plain(text: str, noun: Noun) -> str:
    for pattern, whole in _PHRASES:
        text = pattern.sub(whole if noun == "recording" else _of_request, text)
    for pattern, instead in _NO_TRAINING if noun == "request" else ():
        text = pattern.sub(instead, text)
    return text


def _of_request(match: re.Match[str]) -> str:
    return match[0].replace("step", "request")


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
