"""Values as a file states them beside its events. It may say anything: each is taken only where it has the shape it should."""

from __future__ import annotations

import re
from typing import Any

# Beyond what anything counts or lasts.
MOST = 2**62


def dict_of(value: Any) -> dict[str, Any]:
    """The value where it is a dictionary; an empty one else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value where it is a list; an empty one else."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """The value where it is a text that says something; None else."""
    return value if isinstance(value, str) and value else None


def texts_of(value: Any) -> frozenset[str] | None:
    """The texts in the value where it is a list; None else."""
    return frozenset(item for item in value if isinstance(item, str)) if isinstance(value, list) else None


def words_of(value: Any) -> dict[str, str] | None:
    """The texts of the value by their names where it is a dictionary; None else."""
    if not isinstance(value, dict):
        return None
    return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}


def int_of(value: Any) -> int:
    """The value where it is a number that may be a count or a duration; 0 else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else 0


def whole_of(value: Any) -> int | None:
    """The value where it is a whole number that is not negative, or the digits of a short one; None else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def mean_of(values: Any, most: float) -> float | None:
    """The mean of a list of numbers from 0 to below `most`; None where it is anything else."""
    if not isinstance(values, list) or not values:
        return None
    good = [value for value in values if type(value) in (int, float) and 0 <= value < most]
    return sum(good) / len(good) if len(good) == len(values) else None


def version_of(value: Any) -> tuple[int, int] | None:
    """Major and minor of a version; None where it is none."""
    match = re.match(r"(\d{1,3})\.(\d{1,3})", value) if isinstance(value, str) else None
    return (int(match[1]), int(match[2])) if match else None
