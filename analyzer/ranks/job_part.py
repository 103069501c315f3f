"""What every part of a job in the document is."""

from __future__ import annotations

import msgspec


class JobPart(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of a job. Times are nanoseconds, a mean per step where the name says no other; None is unknown."""
