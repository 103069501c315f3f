"""The result as one HTML file, with the policy and the style of the report: no request, complete without its script."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from markupsafe import Markup

from analyzer.analysis import TUNING_ID
from analyzer.analysis.tuning import Tuning
from analyzer.page import tuning as words
from analyzer.page.words import safe
from analyzer.report.drawing import tuning as drawing
from analyzer.report.drawing.shapes import NARROW, Drawing
from analyzer.report.html import drawn
from analyzer.report.html.findings import Line, lines_of
from analyzer.report.html.prose import embedded, prose
from analyzer.report.html.sheet import Head, Sheet


@dataclass(frozen=True)
class Recommended:
    """One change to make."""

    change: str
    place: str
    carries: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Note:
    """What a trial's row has no room for."""

    change: str
    text: Markup


@dataclass(frozen=True)
class Page:
    """Everything the template shows."""

    version: str
    title: str
    headline: str
    origin: str
    picture: Drawing | None
    narrow_picture: Drawing | None
    trials: Sheet | None
    notes: tuple[Note, ...]
    recommended: tuple[Recommended, ...]
    by_hand: tuple[str, ...]
    method: tuple[str, ...]


def render(tuning: Tuning) -> str:
    """The page, ending in a newline."""
    return drawn("tuning.html.j2", _page(tuning), embedded(msgspec.json.encode(tuning)), TUNING_ID)


def _page(tuning: Tuning) -> Page:
    headline = safe.keep_units(words.headline(tuning))
    return Page(
        version=safe.name(tuning.tool, 24),
        title=f"advisor tune: {headline}",
        headline=headline,
        origin=safe.name(" ".join([tuning.script, *tuning.arguments]), 200),
        picture=drawing.gains(tuning),
        narrow_picture=drawing.gains(tuning, NARROW),
        trials=_trials(tuning),
        notes=tuple(
            Note(safe.name(trial.change, 40), prose(said))
            for trial in tuning.trials
            if (said := words.said(trial, tuning.epoch_steps))
        ),
        recommended=tuple(
            Recommended(
                safe.name(one.change, 60), words.place(one), words.carries(one),
                tuple(lines_of(safe.code(one.diff), "diff" if one.diff.startswith("---") else "text")),
            )
            for one in tuning.recommended
        ),
        by_hand=tuple(words.by_hand(tuning)),
        method=tuple(safe.keep_units(line) for line in words.method(tuning)),
    )  # fmt: skip


def _trials(tuning: Tuning) -> Sheet | None:
    if not tuning.trials:
        return None
    heads = tuple(Head(head, place in (2, 3, 4)) for place, head in enumerate(words.HEADS))
    return Sheet("Every change that was tried", heads, [words.row(trial) for trial in tuning.trials], stacked=True)
