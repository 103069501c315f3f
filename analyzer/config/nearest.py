"""Which file configures a call, and what a misspelt word in it may have meant."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from traces.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "advisor.toml"
PROJECT_FILE = "pyproject.toml"
KEYS = ("select", "ignore", "fail-on", "gate", "rule-seconds", "rules", "accept")
_TABLE = "advisor"
# `adviser` and `advisr` are as near as this, `advice` is not.
_AS_NEAR = 0.8


def find_config(start: Path) -> Path | None:
    """The nearest advisor.toml, or pyproject.toml with a table `tool.advisor` or one that is surely meant, in `start` or above it.

    Raises:
        UsageError: An advisor.toml leads nowhere, or is no file: without it gates might be green that are none.
    """
    for folder in (start, *start.parents):
        own = folder / OWN_FILE
        if own.is_file():
            return own
        if os.path.lexists(own):
            raise UsageError(
                "the configuration cannot be read",
                where=str(own),
                why="it is a link that leads to no file" if own.is_symlink() else "it is no file",
                fix="mend it, or go without it with --isolated",
            )
        project = folder / PROJECT_FILE
        if project.is_file() and _configures(project.read_bytes()):
            return project
    return None


def _configures(content: bytes) -> bool:
    # A cheap look before a parse: most projects have no such table.
    if b"tool" not in content or b"adv" not in content.lower():
        return False
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        # Reading it says what is wrong; of a file that speaks of no such table other tools do.
        return b"tool.advisor" in content
    tool = document.get("tool")
    return isinstance(tool, dict) and (_TABLE in tool or misspelt(document) is not None)


def misspelt(document: Mapping[str, Any]) -> str | None:
    """The table of `tool` that is surely meant to be `advisor`: nearly its name, and a key of its own; None where there is none.

    Args:
        document: A whole pyproject.toml.
    """
    tool = document.get("tool")
    if not isinstance(tool, dict) or _TABLE in tool:
        return None
    for name, table in tool.items():
        near = difflib.SequenceMatcher(None, name.lower().removeprefix("trace-").removeprefix("trace_"), _TABLE).ratio()
        # Another program may have nearly this name, but hardly the same keys.
        if near >= _AS_NEAR and isinstance(table, dict) and set(KEYS) & set(table):
            return str(name)
    return None


def nearest_word(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'select'?`; empty where nothing known is near."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""
