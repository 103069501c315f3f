"""A table of a page: headings and finished cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

_NOTHING = ("", "-")


@dataclass(frozen=True)
class Head:
    """A column's heading and whether it holds numbers."""

    text: str
    right: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table of finished cells; `stacked` where a row is too wide for a telephone, and becomes a line for each cell there."""

    caption: str
    heads: tuple[Head, ...]
    rows: Sequence[Sequence[str]]
    more: str = ""
    stacked: bool = False


def without_empty(sheet: Sheet) -> Sheet:
    """The table without the columns in which no row says anything; the first one stays."""
    kept = [
        place
        for place in range(len(sheet.heads))
        if place == 0 or any(row[place] not in _NOTHING for row in sheet.rows)
    ]
    return dataclasses.replace(
        sheet,
        heads=tuple(sheet.heads[place] for place in kept),
        rows=[[row[place] for place in kept] for row in sheet.rows],
    )
