"""What every part of the document is."""

from __future__ import annotations

from typing import Literal

import msgspec

# What kind of figure a saving is; `SavingDocument` says what each means.
FigureName = Literal["bound", "estimate"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of the document."""
