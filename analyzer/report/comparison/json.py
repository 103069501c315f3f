"""A comparison as JSON, with what the gate said."""

from __future__ import annotations

import dataclasses

import msgspec

from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """The document, deterministic, ending in a newline; `gate` is null where none was asked for."""
    document = {
        **msgspec.to_builtins(comparison),
        "gate": dataclasses.asdict(gate) if gate is not None else None,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
