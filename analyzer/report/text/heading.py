"""A heading with what is said beside it, in as many lines as a narrow screen needs."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.page.words import safe
from analyzer.report.style import Style


def heading(title: str, beside: str, style: Style) -> Iterator[str]:
    """The title with the rest behind it; where one line does not hold both, the rest goes below, indented."""
    if safe.columns(title) + 2 + safe.columns(beside) <= style.width:
        yield style.paint(title, "title") + (f"  {beside}" if beside else "")
        return
    yield from (style.paint(line, "title") for line in safe.wrap(title, style.width))
    yield from (f"  {line}" for line in safe.wrap(beside, style.width - 2))
