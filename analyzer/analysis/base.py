"""What every part of the document is."""

from __future__ import annotations

from typing import Literal

import msgspec

# What kind of figure a saving is; `SavingDocument` says what each means.
FigureName = Literal["bound", "estimate"]
# What trying a change came to.
TrialVerdict = Literal["helps", "no effect", "worse", "failed", "rejected", "not run"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of the document."""
