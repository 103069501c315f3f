"""The user's functions that make a loader's batches, as `advisor collect` found them on the loader itself."""

from __future__ import annotations

from typing import Any

import msgspec

from traces.patterns import Pattern
from traces.trace import Meta

_MOST_TABLES = 4
_FUNCTION = Pattern(r"[a-z]\w{1,20}\.\w{1,20}")
_ROLES = ("dataset", "transform", "collate", "sampler")


class LoaderFunction(msgspec.Struct, frozen=True):
    """One function that takes part in making a batch.

    Args:
        role: `dataset`, `transform`, `collate` or `sampler`.
        name: Its name with its class, `Signals.__getitem__`.
        file: Path relative to the project.
        begins: The line where it begins.
        tables: Names under which its object holds tables of pandas of which it takes rows.
        opens: What it opens for each sample, as `zipfile.ZipFile`; None where nothing is.
        reads: Attribute with the path of the one file that it reads as a whole for each sample; None where none is.
    """

    role: str
    name: str
    file: str
    begins: int
    tables: tuple[str, ...] = ()
    opens: str | None = None
    reads: str | None = None


def loader_functions(meta: Meta) -> tuple[LoaderFunction, ...]:
    """The functions that are the user's own, the data set's first; empty for traces of other origin.

    Args:
        meta: What the file says of itself; nothing is believed about its shape.
    """
    rows = meta.advisor.get("loader_code")
    return tuple(
        LoaderFunction(
            row["role"],
            row["name"],
            row["file"],
            row["line"],
            tables=_names(row.get("tables")),
            opens=_called(row.get("opens")),
            reads=row["reads"] if _is_name(row.get("reads")) else None,
        )
        for row in _sound(rows)
    )


def _called(found: Any) -> str | None:
    """A function with its module, and nothing else."""
    return found if isinstance(found, str) and _FUNCTION.fullmatch(found) else None


def _names(found: Any) -> tuple[str, ...]:
    """Names of attributes, few, and none that is no name."""
    rows = found if isinstance(found, list) else []
    return tuple(name for name in rows[:_MOST_TABLES] if _is_name(name))


def _is_name(found: Any) -> bool:
    return isinstance(found, str) and found.isidentifier()


def _sound(rows: Any) -> list[dict[str, Any]]:
    return [
        row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
        and row.get("role") in _ROLES
        and all(isinstance(row.get(key), str) and row[key] for key in ("name", "file"))
        and isinstance(row.get("line"), int)
        and not isinstance(row["line"], bool)
        and row["line"] > 0
    ]
