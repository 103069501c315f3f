"""The formats of a comparison by name, each imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from analyzer.compare.comparison import Comparison
    from analyzer.compare.gate import GateResult

MODULES = {
    "text": "analyzer.report.comparison.text",
    "markdown": "analyzer.report.comparison.markdown",
    "html": "analyzer.report.comparison.html",
    "json": "analyzer.report.comparison.json",
    "github": "analyzer.report.comparison.github",
}


class _Format(Protocol):
    def render(self, comparison: Comparison, gate: GateResult | None = None) -> str: ...


def render(comparison: Comparison, gate: GateResult | None, form: str) -> str:
    """The comparison in a format, as text ending in a newline."""
    return cast("_Format", importlib.import_module(MODULES[form])).render(comparison, gate)
