"""Tables and curves of the trace itself: all operators, kernels, memory of each device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from analyzer.analysis import Analysis
from analyzer.page.findings.groups import unit, words
from analyzer.page.words import safe
from analyzer.page.words.kernel_names import short
from analyzer.report.drawing.memory import memory as curve_of
from analyzer.report.drawing.memory import sentence
from analyzer.report.drawing.shapes import Drawing
from analyzer.report.html.sheet import Head, Sheet, without_empty
from analyzer.units import count, duration, share, size

if TYPE_CHECKING:
    from analyzer.report.from_trace import FromTrace
    from analyzer.views.memory_curve import MemoryCurve
    from analyzer.views.operator_rows import OperatorRow

_MOST_ROWS = 300
_MOST_ALLOCATORS = 60
_NOTHING = "-"


@dataclass(frozen=True)
class Memory:
    """One device's curve and who allocates."""

    told: str
    curve: Drawing
    allocators: Sheet | None


def operators(analysis: Analysis, found: FromTrace) -> Iterator[Sheet]:
    """The tables of ops and of kernels; one without rows is left out."""
    device = bool(found.kernels)
    if found.operators:
        yield _sheet(words("Every operator, a step", analysis), found.operators, _OPS if device else _HOST)
    if found.kernels:
        yield _sheet(words("Every kernel, a step", analysis), found.kernels, _KERNELS, _kernel)


def memory(analysis: Analysis, found: FromTrace) -> tuple[Memory, ...]:
    """A section for each device."""
    noun = unit(analysis)
    return tuple(
        Memory(f"{sentence(curve, noun)}.", curve_of(curve, noun), _allocators(analysis, curve))
        for curve in found.memory
    )


@dataclass(frozen=True)
class _Column:
    title: str
    text: Callable[[OperatorRow], str]


def _duration(of: Callable[[OperatorRow], int | None]) -> Callable[[OperatorRow], str]:
    # Nothing of its own is no measured length.
    return lambda row: duration(value) if (value := of(row)) else _NOTHING


def calls(number: float) -> str:
    """Calls of a step: whole from ten on."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


_CALLS = _Column("Calls", lambda row: calls(row.calls))
_CPU = (
    _Column("CPU itself", _duration(lambda row: row.self_host_ns)),
    _Column("CPU", _duration(lambda row: row.host_ns)),
)
_SHARE_HOST = _Column("Of all CPU time", lambda row: share(row.share) if row.share else _NOTHING)
_SHARE = _Column("Of all GPU time", lambda row: share(row.share) if row.share else _NOTHING)
_HOST = (_SHARE_HOST, *_CPU, _CALLS)
_OPS = (
    _SHARE,
    _Column("GPU itself", _duration(lambda row: row.self_device_ns)),
    _Column("GPU", _duration(lambda row: row.device_ns)),
    *_CPU,
    _CALLS,
)
_TENSOR = _Column(
    "Tensor cores", lambda row: _NOTHING if row.tensor_core_ratio is None else share(row.tensor_core_ratio)
)
_KERNELS = (_SHARE, _Column("GPU", _duration(lambda row: row.self_device_ns)), _CALLS, _TENSOR)


def _kernel(name: str) -> Markup:
    """A kernel's short name; pointed at, the whole one."""
    return Markup('<span title="{}">{}</span>').format(safe.name(name, 400), safe.name(short(name)))


def _sheet(
    caption: str, rows: Sequence[OperatorRow], columns: Sequence[_Column], named: Callable[[str], str] = safe.name
) -> Sheet:
    heads = (Head("Name"), *(Head(column.title, True) for column in columns), Head("Findings"))
    cells = [
        [named(row.name), *(column.text(row) for column in columns), " ".join(row.findings)]
        for row in rows[:_MOST_ROWS]
    ]
    left = len(rows) - len(cells)
    return without_empty(Sheet(caption, heads, cells, f"{left:,} with less time are left out." if left > 0 else ""))


def _allocators(analysis: Analysis, curve: MemoryCurve) -> Sheet | None:
    rows = [
        [safe.name(one.name) or "outside any op", safe.name(one.shape) if one.shape.strip("[], ") else "",
         size(one.size_bytes), calls(one.calls), size(one.largest_bytes)]
        for one in curve.allocators[:_MOST_ALLOCATORS]
    ]  # fmt: skip
    heads = (
        Head("Op"),
        Head("Shapes of the largest"),
        Head("Allocated", True),
        Head("Calls", True),
        Head("Largest", True),
    )
    left = count(len(curve.allocators) - len(rows), "op") + " that allocate less are left out."
    more = left if len(curve.allocators) > len(rows) else ""
    return Sheet(words(f"What allocates on {curve.device}, a step", analysis), heads, rows, more) if rows else None
