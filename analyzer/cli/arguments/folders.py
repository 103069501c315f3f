"""Folders on a command line: each stands for the traces that lie nearest in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from analyzer.cli.arguments.once import once
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

_ENDINGS = (".json", ".json.gz", ".json.zst")
_NAMED = 5
# The ranks of the largest jobs; so many traces take a minute or more.
MOST_TRACES = 4_096
# `lightning_logs/version_0`, `outputs/profile_trace/iteration_10/rank_0`; and no disk is walked through.
_DEEPEST = 6
_MOST_LOOKED_AT = 50_000


def traces_in(paths: Sequence[Path]) -> list[Path]:
    """The traces that paths name: files as given, and by name those directly inside folders, else in the folders below them.

    What lies in a folder and is surely none, as a report or settings, is left out with a note; what is damaged is not. So is
    what goes beyond `MOST_TRACES`, and what is named again.

    Raises:
        UsageError: A folder holds none.
    """
    found = []
    for path in paths:
        found += _nearest(path) if path.is_dir() else [path]
    return once(found)


def _nearest(folder: Path) -> list[Path]:
    """The traces at the first depth that has any.

    Raises:
        UsageError: None has.
    """
    met: list[Path] = []
    for named in _by_depth(folder):
        if len(named) > MOST_TRACES:
            note(
                f"{folder} holds {len(named):,} files, of which the first {MOST_TRACES:,} by name are read; "
                "name the others, or move them to a folder of their own"
            )
            del named[MOST_TRACES:]
        others = _no_traces(named)
        inside = [item for item in named if item not in others]
        met += sorted(others)
        if inside:
            if others:
                note(f"left out of {folder}, no traces: {_names(sorted(others))}")
            return inside
    raise UsageError(
        f"{folder.name or folder} holds no trace",
        where=str(folder),
        why=f"{_names(met)}: no profiler wrote that" if met else None,
        fix="name a folder with .json or .json.gz files in it",
    )


def _by_depth(folder: Path) -> Iterator[list[Path]]:
    """Files with a trace's ending in a folder, then those in its folders, and so on, each by name; hidden folders are left out."""
    level, looked_at = [folder], 0
    for _ in range(_DEEPEST + 1):
        files, below = [], []
        for one in level:
            for item in _inside(one, folder):
                looked_at += 1
                # Unlike `Path.is_dir` this takes a link into a closed folder for none.
                if os.path.isdir(item):
                    below.append(item)
                elif item.name.endswith(_ENDINGS):
                    files.append(item)
            if looked_at > _MOST_LOOKED_AT:
                break
        yield files
        if looked_at > _MOST_LOOKED_AT:
            return
        level = [item for item in below if not item.name.startswith(".") and item.name != "node_modules"]


def _inside(one: Path, named: Path) -> list[Path]:
    """What lies in a folder, by name. A closed one is passed by with a note, unless it is the one that was named.

    Raises:
        OSError: That one cannot be read.
    """
    try:
        return sorted(one.iterdir())
    except PermissionError:
        if one == named:
            raise
        note(f"{one} may not be read, and is left out")
        return []


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
