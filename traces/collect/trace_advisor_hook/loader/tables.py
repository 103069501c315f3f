"""Tables of pandas that a data set holds, and of which its code takes rows sample by sample."""

from __future__ import annotations

import sys

from .sample_code import SampleCode

# How rows or cells of a table are taken, each as a new object.
_TAKES_ROWS = frozenset({"iloc", "loc", "iat", "at", "iterrows"})
_MOST = 4


def tables_of(code: SampleCode) -> list[str]:
    """Names of attributes that hold a table, where the code that makes a sample takes rows of any."""
    pandas = sys.modules.get("pandas")
    kinds = tuple(kind for name in ("DataFrame", "Series") if (kind := getattr(pandas, name, None)) is not None)
    held = getattr(code.owner, "__dict__", None)
    if not kinds or not isinstance(held, dict) or _TAKES_ROWS.isdisjoint(code.names):
        return []
    return [name for name, value in held.items() if isinstance(value, kinds) and name in code.names][:_MOST]
