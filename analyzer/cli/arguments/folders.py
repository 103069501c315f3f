"""Folders on a command line: each stands for the traces directly in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

_ENDINGS = (".json", ".json.gz", ".json.zst")
_NAMED = 5
# The ranks of the largest jobs; so many traces take a minute or more.
MOST_TRACES = 4_096


def traces_in(paths: Sequence[Path]) -> list[Path]:
    """The traces that paths name: files as given, and those directly inside folders, or else in their folders, by name.

    What lies in a folder and is surely none, as a report or settings, is left out with a note; what is damaged is not. So is
    what goes beyond `MOST_TRACES`.

    Raises:
        UsageError: A folder holds none.
    """
    found = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        named = _traces_of(path)
        if len(named) > MOST_TRACES:
            click.echo(
                f"advisor: note: {path} holds {len(named):,} files, of which the first {MOST_TRACES:,} by name are read; "
                "name the others, or move them to a folder of their own",
                err=True,
            )
            del named[MOST_TRACES:]
        others = _no_traces(named)
        inside = [item for item in named if item not in others]
        if not inside:
            raise UsageError(
                f"{path.name or path} holds no trace",
                where=str(path),
                why=f"{_names(sorted(others))}: no profiler wrote that" if others else None,
                fix="name a folder with .json or .json.gz files in it",
            )
        if others:
            click.echo(f"advisor: note: left out of {path}, no traces: {_names(sorted(others))}", err=True)
        found += inside
    return found


def _traces_of(folder: Path) -> list[Path]:
    """Files with a trace's ending in a folder; where it holds none, those in its folders: one per rank is common."""
    found = sorted(item for item in folder.iterdir() if item.is_file() and item.name.endswith(_ENDINGS))
    if found:
        return found
    below = sorted(item for item in folder.iterdir() if item.is_dir() and not item.name.startswith("."))
    return [item for one in below for item in sorted(one.iterdir()) if item.is_file() and item.name.endswith(_ENDINGS)]


def _no_traces(paths: Sequence[Path]) -> set[Path]:
    """Those that are surely none; of thousands it takes seconds to look at each."""
    found = set()
    with ProgressLine() as progress:
        for number, path in enumerate(paths):
            progress("looking at files", number, len(paths))
            if _is_no_trace(path):
                found.add(path)
    return found


def _is_no_trace(path: Path) -> bool:
    from analyzer.opening.saved import is_report
    from analyzer.ranks.files import looks_like_summary
    from traces.reader.input.looks import is_other_json

    return not looks_like_summary(path) and (is_report(path) or is_other_json(path))


def _names(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(path.name for path in paths[:_NAMED]) + more
