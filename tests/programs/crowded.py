"""Programs on a machine that others use too, on the CPU."""

from __future__ import annotations

from building.builders import TraceBuilder


def stopping(*, gaps: tuple[float, ...], stalls: int, by: float = 6_000, usual: float = 0) -> TraceBuilder:
    """Eight steps; some of the latter half stop between two ops for one of `gaps`; in `stalls` before them an op takes longer."""
    builder = TraceBuilder(None)
    at = 0.0
    for number in range(8):
        gap = usual + (gaps[number - 4] if 4 <= number < 4 + len(gaps) else 0)
        longer = by if 1 <= number <= stalls else 0
        builder.step(number, at, 50_000 + gap + longer)
        builder.op("aten::relu", at, 1_000 + longer)
        builder.op("aten::linear", at + 1_000 + longer, 24_000)
        builder.op("aten::linear", at + 25_000 + longer + gap, 25_000)
        at += 50_000 + gap + longer
    return builder
