"""What the hook saw of the user's own lines, as it goes into a trace: paths relative to the project, each line with its text."""

from __future__ import annotations

import json
import linecache
from collections import Counter
from pathlib import Path
from typing import Any

from traces.collect.output.paths import PathCleaner, own_path
from traces.collect.script.loops import loops_around
from traces.collect.script.statements import statement_at

_MOST_ROWS, _MOST_TEXT = 40, 160


def own_rows(rows: list[dict[str, Any]], roots: tuple[Path, ...]) -> list[dict[str, Any]]:
    """What the hook tells of code, files of the user's own relative to the project.

    Args:
        rows: Whatever is known of each, `file` among it; None where none is the user's own.
        roots: Folders that the user's files lie in.
    """
    return [row if row["file"] is None else row | {"file": own_path(row["file"], roots)} for row in rows]


def made_rows(rows: list[dict[str, Any]], roots: tuple[Path, ...]) -> list[dict[str, Any]]:
    """Where objects are made: the same with the text of the program's own statement, for a change of that very one.

    Args:
        rows: As the hook tells them; of one that a library makes, the program's line says nothing of its arguments.
        roots: Folders that the user's files lie in.
    """
    cleaner = PathCleaner(roots[0])
    texts = [_statement(row["file"], row["line"], cleaner) if row["package"] is None else None for row in rows]
    return [row | {"text": text} for row, text in zip(own_rows(rows, roots), texts, strict=True)]


def line_samples(told: dict[str, Any], workers: list[Path], roots: tuple[Path, ...]) -> dict[str, Any]:
    """Sampled lines of the training process and of the loader's workers together.

    Args:
        told: What the training process sampled.
        workers: Files that the workers wrote; one that cannot be read is left out.
        roots: Folders that the user's files lie in.

    Returns:
        For the training process and its workers: nanoseconds in all, inside the loader, in its collate function, and rows of
        loader (whether inside it), file, line, function, begins (the line where the function begins), text, loops (first lines of
        the loops around it in its function, but for those that turn once a step or less often) and ns, most first; and the line
        of the user's at which steps end.
    """
    ends: dict[str, frozenset[int]] = {}
    for file, line in told["step_ends"]:
        ends[file] = ends.get(file, frozenset()) | {line}
    others = [one for one in map(_read, workers) if one is not None]
    return {
        "interval_ns": told["interval_ns"],
        "steps": told["steps"],
        "step_ns": told["step_ns"],
        "step_line": _line(told["step_line"], roots) if told["step_line"] else None,
        "training": _part([told], roots, ends),
        "workers": _part(others, roots, ends) if others else None,
    }


def _line(place: list[Any], roots: tuple[Path, ...]) -> dict[str, Any]:
    """The line at which steps end, as rows have theirs."""
    file, line, function, begins = place
    return {"file": own_path(file, roots), "line": line, "function": function, "begins": begins}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None


def _part(told: list[dict[str, Any]], roots: tuple[Path, ...], ends: dict[str, frozenset[int]]) -> dict[str, Any]:
    cleaner = PathCleaner(roots[0])
    counts: Counter[tuple[bool, str, int, str, int]] = Counter()
    for one in told:
        for row in one["rows"]:
            counts[(row["loader"], row["file"], row["line"], row["function"], row["begins"])] += row["ns"]
    return {
        "processes": len(told),
        "total_ns": sum(one["total_ns"] for one in told),
        "loader_ns": sum(one["loader_ns"] for one in told),
        "collate_ns": sum(one["collate_ns"] for one in told),
        "rows": [
            {
                "loader": loader,
                "file": own_path(file, roots),
                "line": line,
                "function": function,
                "begins": begins,
                "text": _text(file, line, cleaner),
                "loops": loops_around(file, line, ends.get(file, frozenset())),
                "ns": ns,
            }
            for (loader, file, line, function, begins), ns in counts.most_common(_MOST_ROWS)
        ],
    }


def _statement(file: str, line: int, cleaner: PathCleaner) -> str | None:
    text = statement_at(file, line)
    return None if text is None else "\n".join(cleaner.clean_text(one) for one in text.splitlines())


def _text(file: str, line: int, cleaner: PathCleaner) -> str:
    return cleaner.clean_text(linecache.getline(file, line).strip()[:_MOST_TEXT])
