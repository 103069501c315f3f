"""The one table of formats: names, files' endings, what each is good for; each is imported when it is asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from analyzer.analysis import Analysis


@dataclass(frozen=True)
class Format:
    """One format.

    Args:
        name: On the command line; the module of this package whose `render` writes it bears it, too.
        endings: Of files that mean it, the first the usual one; none where it is only printed.
        use: What it is good for; a few words.
    """

    name: str
    endings: tuple[str, ...]
    use: str

    @property
    def module(self) -> str:
        """The module whose `render` writes it."""
        return f"analyzer.report.{self.name}"


TABLE = (
    Format("text", (".txt", ".text"), "plain text"),
    Format("markdown", (".md", ".markdown"), "for an issue or a chat"),
    Format("html", (".html", ".htm"), "one page for a browser, works offline"),
    Format("json", (".json",), "everything, for programs; opens again here"),
    # GitHub takes `.sarif.json` as an attachment, `.sarif` it does not.
    Format("sarif", (".sarif.json", ".sarif"), "for code scanning"),
    Format("github", (), "notes of a GitHub job"),
    Format("svg", (".svg",), "a picture of the step"),
)
BY_NAME = {one.name: one for one in TABLE}
# Longer endings first: a `.sarif.json` is no `.json`.
ENDINGS = dict(sorted(((ending, one.name) for one in TABLE for ending in one.endings), key=lambda pair: -len(pair[0])))


class _Writer(Protocol):
    def render(self, analysis: Analysis) -> str: ...


def of(name: str) -> str | None:
    """The format that a file's name means; None where it means none."""
    low = PurePath(name).name.lower()
    return next((form for ending, form in ENDINGS.items() if low.endswith(ending)), None)


def render(analysis: Analysis, form: str) -> str:
    """The analysis in a format, as text ending in a newline."""
    return cast("_Writer", importlib.import_module(BY_NAME[form].module)).render(analysis)
