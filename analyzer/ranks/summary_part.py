"""What every part of a rank's summary is, and the numbers that may stand in one."""

from __future__ import annotations

from typing import Annotated

import msgspec

# A summary may come from anybody: numbers fit into 64 bits with room to add some up, and no job has a million ranks.
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Moment = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
MOST_RANKS = 2**20
Rank = Annotated[int, msgspec.Meta(ge=0, lt=MOST_RANKS)]
RankCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_RANKS)]


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of every part of a summary."""
