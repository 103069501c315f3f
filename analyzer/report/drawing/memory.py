"""Memory of one device over time: what is allocated as an area, what the allocator holds as a line, steps below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzer.page.words.of_steps import Noun
from analyzer.report.drawing.shapes import WIDTH, Drawing, line, number, text, width_of
from analyzer.units import duration, size

if TYPE_CHECKING:
    from analyzer.views.memory_curve import MemoryCurve

_HEIGHT, _LEFT, _TOP, _BOTTOM = 220, 84, 14, 40
_RIGHT = WIDTH - 12
_FLOOR = _HEIGHT - _BOTTOM


def memory(curve: MemoryCurve, noun: Noun = "step") -> Drawing:
    """The curve of a device; its values are the highest in equal pieces of the time."""
    top = max(curve.peak_bytes, *curve.reserved_bytes, 1) if curve.reserved_bytes else max(curve.peak_bytes, 1)
    body = [*_axis(top), _area(curve.allocated_bytes, top)]
    if curve.reserved_bytes:
        body.append(f'<path class="reserved" d="M{_points(curve.reserved_bytes, top)}"/>')
    body += _steps(curve, noun)
    return Drawing(_HEIGHT, "".join(body), sentence(curve, noun))


def sentence(curve: MemoryCurve, noun: Noun = "step") -> str:
    """The curve in words."""
    where = f" in {noun} {curve.peak_step}" if curve.peak_step is not None and noun != "recording" else ""
    held = f"; the allocator held up to {size(max(curve.reserved_bytes))}" if curve.reserved_bytes else ""
    counted = "; counted from the first event, what was there before is unknown" if curve.relative else ""
    return f"{curve.device}: up to {size(curve.peak_bytes)} allocated{where}{held}{counted}"


def _axis(top: int) -> Iterator[str]:
    for part in (0, 0.5, 1):
        y = _FLOOR - part * (_FLOOR - _TOP)
        yield line(_LEFT, y, _RIGHT, y, "grid")
        yield text(_LEFT - 8, y + 4, size(top * part) if part else "0", "quiet end")


def _points(values: Sequence[int], top: int) -> str:
    across = (_RIGHT - _LEFT) / max(len(values) - 1, 1)
    return "L".join(
        f"{number(_LEFT + index * across)} {number(_FLOOR - max(value, 0) / top * (_FLOOR - _TOP))}"
        for index, value in enumerate(values)
    )


def _area(values: Sequence[int], top: int) -> str:
    return f'<path class="c-compute" d="M{_LEFT} {_FLOOR}L{_points(values, top)}L{_RIGHT} {_FLOOR}Z"/>'


def _steps(curve: MemoryCurve, noun: Noun) -> Iterator[str]:
    length = max(curve.end_ns - curve.start_ns, 1)
    free = 0.0
    numbered = zip(curve.step_numbers, curve.step_starts_ns, strict=True)
    for step, start in numbered if noun != "recording" else ():
        x = _LEFT + (start - curve.start_ns) / length * (_RIGHT - _LEFT)
        label = f"{noun} {step}"
        # Labels would stand on one another where steps are short; marks of steps before the first event have no place.
        if x < max(free, _LEFT) or x + width_of(label) > _RIGHT:
            continue
        yield line(x, _FLOOR, x, _FLOOR + 6, "grid")
        yield text(x, _FLOOR + 20, label, "quiet")
        free = x + width_of(label) + 8
    yield text(_RIGHT, _HEIGHT - 4, f"{duration(curve.end_ns - curve.start_ns)} in all", "quiet end")
