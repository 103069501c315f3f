"""A trace that a command line names twice is one trace: read twice it would pass for a second run, or another rank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from analyzer.cli.streams.notes import note

_Named = TypeVar("_Named", bound=Path | str)


def once(places: Sequence[_Named]) -> list[_Named]:
    """Each file or URL where it is named first; those that come again are told in a note."""
    first: dict[str, _Named] = {}
    again: dict[str, _Named] = {}
    for place in places:
        if first.setdefault(identity(place), place) is not place:
            again.setdefault(identity(place), place)
    for which in again:
        note(f"{first[which]} is named more than once, and is read once")
    return list(first.values())


def identity(place: Path | str) -> str:
    """What tells a file from others, by whatever way it is named; the standard input and URLs by their names."""
    return os.path.realpath(place) if isinstance(place, Path) and str(place) != "-" else str(place)
