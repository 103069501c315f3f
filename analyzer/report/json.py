"""The `Analysis` as JSON: the same bytes for the same analysis, indented so that a diff of two reports can be read."""

from __future__ import annotations

import msgspec

from analyzer.analysis import Analysis


def render(analysis: Analysis) -> str:
    """The whole document, keys in the order of the classes, full integers, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(analysis), indent=2).decode() + "\n"
