"""Accepting a finding: the lines in the configuration with which a team says that it lives with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from analyzer.analysis import Analysis
from analyzer.config.nearest import OWN_FILE, PROJECT_FILE, find_config
from traces.errors import UsageError
from traces.replacing import replacing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def place(folder: Path, used: Path | None = None) -> Path:
    """The file that the lines belong into: the configuration, else pyproject.toml where there is one, else advisor.toml.

    Args:
        folder: Where to look for it.
        used: The configuration that was read, if any.
    """
    found = used or find_config(folder)
    if found is not None:
        return found
    project = folder / PROJECT_FILE
    return project if project.is_file() else folder / OWN_FILE


def lines(identity: str, reason: str, path: Path) -> str:
    """The lines as they would stand in the file.

    Args:
        identity: The finding's id.
        reason: Why it is accepted.
        path: The file.
    """
    table = "tool.advisor.accept" if path.name == PROJECT_FILE else "accept"
    return f"[[{table}]]\nid = {_string(identity)}\nreason = {_string(' '.join(reason.split()))}\n"


def _string(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does, but for a character that JSON leaves as it is.

    An id comes from a trace or from a report that anybody may have written: no text may become a line of its own.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def accept(identity: str, reason: str, path: Path) -> None:
    """Add the lines at the end of the file; what stands there stays as it is.

    Args:
        identity: The finding's id.
        reason: Why it is accepted; not empty.
        path: The file, made where there is none.

    Raises:
        UsageError: The reason is empty, the file cannot be read or written, or would not hold the lines at its end.
    """
    if not reason.strip():
        raise UsageError("a finding is accepted for a reason", fix="say why, for whoever reads it next")
    # A link keeps its place; the file behind it changes.
    path = path.resolve()
    try:
        before = path.read_bytes().decode() if path.exists() else ""
        if any(isinstance(one, dict) and one.get("id") == identity for one in _accepted(before, path)):
            raise UsageError(
                f"{identity} is accepted already", where=str(path), fix="change the reason that stands there"
            )
        end = "\r\n" if "\r\n" in before else "\n"
        gap = "" if not before.strip() else end if before.endswith("\n") else end * 2
        after = before + gap + lines(identity, reason, path).replace("\n", end)
        _accepted(after, path)
        with replacing(path) as file:
            file.write(after.encode())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "the configuration cannot be changed",
            where=str(path),
            why=str(error),
            fix="make the file one that can be read and written",
        ) from error


def with_accepted(analysis: Analysis, identity: str, reason: str) -> Analysis:
    """The document with one finding accepted, as the next look at the trace would have it."""
    return replace(
        analysis,
        findings=tuple(replace(one, accepted=reason) if one.id == identity else one for one in analysis.findings),
    )


def carried_over(before: Analysis, after: Analysis) -> Analysis:
    """The later document with what was accepted in the earlier one."""
    for finding in before.findings:
        if finding.accepted is not None:
            after = with_accepted(after, finding.id, finding.accepted)
    return after


def _accepted(text: str, path: Path) -> list[Any]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            "the lines cannot stand at the end of the configuration",
            where=str(path),
            why=str(error),
            fix="copy them and put them where they belong",
        ) from error
    table: Any = document.get("tool", {}).get("advisor", {}) if path.name == PROJECT_FILE else document
    found = table.get("accept", []) if isinstance(table, dict) else []
    return found if isinstance(found, list) else []
