"""What the document knows of an operator's work, beside the times that the views measure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.views.operator_rows import OperatorRow, Work


def with_work(rows: Sequence[OperatorRow], analysis: Analysis) -> tuple[OperatorRow, ...]:
    """The rows of ops with shapes, each with what it achieves where that is known."""
    known, steps = hardware.by_inputs(analysis), max(analysis.summary.used_steps, 1)
    if not known:
        return tuple(rows)
    return tuple(
        msgspec.structs.replace(
            row,
            work=Work(
                flops_per_s=one.flops_per_s or None,
                bytes_per_s=one.bytes_per_s,
                peak_ratio=one.peak_ratio,
                side=one.side,
                above_ns=None if one.above_roofline_ns is None else one.above_roofline_ns / steps,
                reason=one.reason,
            ),
        )
        if (one := known.get((row.name, row.shape))) is not None
        else row
        for row in rows
    )
