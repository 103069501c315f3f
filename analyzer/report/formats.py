"""The formats of a report by name and by ending, each imported when it is asked for."""

from __future__ import annotations

import importlib
from pathlib import PurePath
from typing import Protocol, cast

from analyzer.analysis import Analysis

# Name on the command line: the module whose `render` writes it.
MODULES = {
    "text": "analyzer.report.text",
    "markdown": "analyzer.report.markdown",
    "html": "analyzer.report.html",
    "json": "analyzer.report.json",
    "sarif": "analyzer.report.sarif",
    "github": "analyzer.report.github",
    "svg": "analyzer.report.svg",
}
# GitHub takes `.sarif.json` as an attachment, `.sarif` it does not. Longer endings first.
ENDINGS = {
    ".sarif.json": "sarif", ".sarif": "sarif", ".json": "json", ".md": "markdown", ".markdown": "markdown",
    ".html": "html", ".htm": "html", ".svg": "svg", ".txt": "text", ".text": "text",
}  # fmt: skip


class _Format(Protocol):
    def render(self, analysis: Analysis) -> str: ...


def of(name: str) -> str | None:
    """The format that a file's name means; None where it means none."""
    low = PurePath(name).name.lower()
    return next((form for ending, form in ENDINGS.items() if low.endswith(ending)), None)


def render(analysis: Analysis, form: str) -> str:
    """The analysis in a format, as text ending in a newline."""
    return cast("_Format", importlib.import_module(MODULES[form])).render(analysis)
