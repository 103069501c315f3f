"""Places of the user's code from a second pass with stacks (`advisor collect --evidence`), by operator.

The recording itself was made without stacks, so that its times are right; what it lacks is where, and that stands in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traces.trace import Meta

# An operator that several places call is named only where one of them makes most of the calls.
_MOST = 0.6


def places(meta: Meta) -> dict[str, str]:
    """The user's frame that calls each operator, as `file.py(line): function`; believes nothing about the table's shape."""
    table = meta.advisor.get("where")
    calls: dict[str, dict[str, int]] = {}
    for row in table if isinstance(table, list) else []:
        place = _frame(row) if isinstance(row, dict) else None
        if place is not None:
            own = calls.setdefault(row["op"], {})
            own[place] = own.get(place, 0) + row["count"]
    found = {}
    for op, own in calls.items():
        place, count = max(own.items(), key=lambda item: item[1])
        if count >= _MOST * sum(own.values()):
            found[op] = place
    return found


def callers(meta: Meta, ops: Iterable[str]) -> frozenset[str]:
    """The user's frames that call each of some operators; empty where one was called by none.

    Args:
        meta: What the file says of itself.
        ops: Names of the operators.
    """
    calling: dict[str, set[str]] = {op: set() for op in ops}
    table = meta.advisor.get("where")
    for row in table if isinstance(table, list) else []:
        place = _frame(row) if isinstance(row, dict) else None
        if place is not None and row["op"] in calling:
            calling[row["op"]].add(place)
    return frozenset(set.intersection(*calling.values())) if calling else frozenset()


def _frame(row: dict[str, Any]) -> str | None:
    texts = [row.get(name) for name in ("op", "file", "function")]
    numbers = [row.get(name) for name in ("line", "count")]
    if not all(isinstance(text, str) and text for text in texts):
        return None
    if not all(isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in numbers):
        return None
    return f"{row['file']}({row['line']}): {row['function']}"
