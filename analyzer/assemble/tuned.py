"""What `advisor tune` measured on the program of this recording, kept in its metadata; nothing about its shape is believed."""

from __future__ import annotations

from typing import Annotated

import msgspec

from analyzer.analysis import Tried
from analyzer.analysis.base import TrialVerdict
from traces.trace import Meta

_MOST = 64
# No change saves more than the step; one may make it many times as long.
_Share = Annotated[float, msgspec.Meta(ge=-1e6, le=1)]
_Word = Annotated[str, msgspec.Meta(max_length=60)]


class _Row(msgspec.Struct):
    change: _Word
    rules: Annotated[tuple[_Word, ...], msgspec.Meta(max_length=_MOST)]
    verdict: TrialVerdict
    measured_ratio: _Share
    low_ratio: _Share
    high_ratio: _Share
    pays_after_steps: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None = None


_Rows = Annotated[list[_Row], msgspec.Meta(max_length=_MOST)]


def tried(meta: Meta, rule: str) -> tuple[Tried, ...]:
    """What the changes brought that this rule advises; empty where nobody tried, or what stands there is none."""
    try:
        rows = msgspec.convert(meta.advisor.get("tuned", []), _Rows)
    except msgspec.ValidationError:
        return ()
    return tuple(
        Tried(
            change=row.change, verdict=row.verdict, measured_ratio=row.measured_ratio, low_ratio=row.low_ratio,
            high_ratio=row.high_ratio, pays_after_steps=row.pays_after_steps,
        )
        for row in rows
        if rule in row.rules
    )  # fmt: skip
