"""Causes with their share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from analyzer import analysis as doc
from analyzer.cause_names import CAUSES


def cause_times(totals: Mapping[str, int], whole_ns: int) -> tuple[doc.CauseTime, ...]:
    """What each cause owns, nanoseconds, and its share of the whole; 0 where that is empty."""
    return tuple(
        doc.CauseTime(
            cause=cast("Any", cause), ns=int(totals[cause]), ratio=totals[cause] / whole_ns if whole_ns else 0.0
        )
        for cause in CAUSES
    )
