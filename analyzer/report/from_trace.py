"""What a page shows that no document holds: the events of its step, tables of all operators and kernels, memory over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from analyzer.page.words import safe
from analyzer.report.redact import cleaner
from analyzer.report.redact.here import project
from analyzer.views.concerns import concerns
from analyzer.views.measured import Measured
from analyzer.views.operator_rows import OperatorRow
from analyzer.views.slim_lanes import slim

if TYPE_CHECKING:
    from analyzer.explained import Explained
    from analyzer.views.memory_curve import MemoryCurve

_KERNEL_NAME_LENGTH = 2_000


@dataclass(frozen=True)
class FromTrace:
    """Views of the trace, with names fit to be shown to anybody.

    Args:
        lanes: The drawn step as `analyzer.views.slim_lanes` writes it; None where the recording has no step.
        operators: Of the used steps, most device time first; on a trace without a device most host time.
        kernels: Likewise; empty without a device.
        memory: A curve per device; empty where memory was not recorded.
    """

    lanes: bytes | None = None
    operators: tuple[OperatorRow, ...] = ()
    kernels: tuple[OperatorRow, ...] = ()
    memory: tuple[MemoryCurve, ...] = ()


def from_trace(explained: Explained, *, redacted: bool = True) -> FromTrace | None:
    """The views as `analyzer.report.html` takes them; None where the trace is not at hand."""
    if explained.facts is None:
        return None
    views = Measured(explained.facts, explained.claims, concerns(explained.analysis, explained.savings))
    clean = cleaner(project()) if redacted else str

    def fit(name: str) -> str:
        return safe.name(clean(name))

    def fit_whole(name: str) -> str:
        # What a kernel does stands in the middle of its name: shortened first, it would be gone.
        return safe.name(clean(name), _KERNEL_NAME_LENGTH)

    number = explained.analysis.summary.representative_step
    return FromTrace(
        lanes=None if number is None else slim(views.step(number), fit),
        operators=_named(views.operators("op"), fit),
        kernels=_named(views.operators("kernel"), fit_whole) if views.has_device else (),
        memory=tuple(_curve(curve, fit) for curve in views.memory()),
    )


def _named(rows: Sequence[OperatorRow], fit: Callable[[str], str]) -> tuple[OperatorRow, ...]:
    return tuple(msgspec.structs.replace(row, name=fit(row.name)) for row in rows)


def _curve(curve: MemoryCurve, fit: Callable[[str], str]) -> MemoryCurve:
    allocators = tuple(msgspec.structs.replace(one, name=fit(one.name)) for one in curve.allocators)
    return msgspec.structs.replace(curve, allocators=allocators)
