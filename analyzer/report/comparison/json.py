"""A comparison as JSON, with what the gate said."""

from __future__ import annotations

import msgspec

from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult


class Document(Comparison, frozen=True, kw_only=True):
    """What is written: the comparison, and the gate's result or null where none was asked for."""

    gate: GateResult | None


def document(comparison: Comparison, gate: GateResult | None) -> Document:
    """The comparison with the gate's result."""
    parts = {name: getattr(comparison, name) for name in Comparison.__struct_fields__}
    return Document(**parts, gate=gate)


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """The document, deterministic, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(document(comparison, gate)), indent=2).decode() + "\n"
