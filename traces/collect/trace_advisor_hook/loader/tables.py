"""Tables of pandas that a data set holds, and of which its code takes rows sample by sample."""

from __future__ import annotations

import sys
import types
from typing import Any

# How rows or cells of a table are taken, each as a new object.
_TAKES_ROWS = frozenset({"iloc", "loc", "iat", "at", "iterrows"})
_MOST = 4


def tables_of(code: types.CodeType, owner: Any) -> list[str]:
    """Names of attributes that hold a table, where the code that makes a sample takes rows of any.

    Args:
        code: Of a method.
        owner: Whose method it is; None where it is a function.
    """
    pandas = sys.modules.get("pandas")
    kinds = tuple(kind for name in ("DataFrame", "Series") if (kind := getattr(pandas, name, None)) is not None)
    held = getattr(owner, "__dict__", None)
    names = _names(code)
    if not kinds or not isinstance(held, dict) or _TAKES_ROWS.isdisjoint(names):
        return []
    return [name for name, value in held.items() if isinstance(value, kinds) and name in names][:_MOST]


def _names(code: types.CodeType) -> set[str]:
    """Names of attributes that a function asks for, or one inside it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))
