"""Which cards the trace names."""

from __future__ import annotations

import msgspec

from traces.trace import Meta


class Card(msgspec.Struct, frozen=True):
    """One device as the trace states it (`deviceProperties`).

    Args:
        name: As its driver calls it; empty where the trace does not say.
        capability: Compute capability, major and minor; None where the trace does not say.
    """

    name: str
    capability: tuple[int, int] | None


def cards(meta: Meta) -> tuple[Card, ...]:
    """Reads them, believing nothing about their shape."""
    return tuple(
        Card(str(card.get("name", "")), _pair(card.get("computeMajor"), card.get("computeMinor")))
        for card in meta.devices
    )


def _pair(major: object, minor: object) -> tuple[int, int] | None:
    return (major, minor) if isinstance(major, int) and isinstance(minor, int) else None
