"""A figure of the evidence in its unit."""

from __future__ import annotations

from analyzer.analysis import Unit
from analyzer.page.words import safe
from analyzer.units import duration, figure, share, size


def value(number: str | float | int | None, unit: Unit, limit: int = 60) -> str:
    """A number in its unit; text cleaned and shortened to `limit` columns; a dash for what is unknown."""
    if number is None:
        return "-"
    if isinstance(number, str):
        return safe.name(number, limit)
    formats = {"ns": duration, "bytes": size, "ratio": share}
    if unit in formats:
        return formats[unit](number)
    return figure(number)
