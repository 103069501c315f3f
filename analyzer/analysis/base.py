"""What every part of the document is."""

from __future__ import annotations

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of the document."""
