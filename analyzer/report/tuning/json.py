"""The result as JSON: everything, unrounded."""

from __future__ import annotations

import msgspec

from analyzer.analysis.tuning import Tuning


def render(tuning: Tuning) -> str:
    """The document, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(tuning), indent=2).decode() + "\n"
