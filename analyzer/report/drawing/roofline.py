"""The roofline: how fast operators compute over how many operations they have for each byte, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import escape

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.page.hardware import Dot, Roofs
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import WIDTH, Drawing, line, number, text, width_of
from analyzer.units import count, figure, rate, share

_HEIGHT, _LEFT, _TOP, _BOTTOM = 360, 110, 14, 40
_MOST_DOTS = 120
_NAMED = 6
# Marks below the picture: on a narrow one every second power would stand on the first.
_LEAST_APART = 58
# Lines of text need so much.
_LINE_APART = 14
_LEAST_RADIUS, _MOST_RADIUS = 3.0, 18.0


@dataclass(frozen=True)
class _Scale:
    """Powers of ten that the picture spans, and its width."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int

    @property
    def right(self) -> int:
        """Where the plot ends."""
        return self.width - 12

    def at(self, intensity: float, flops_per_s: float) -> tuple[float, float]:
        """The place of a point, pixels."""
        across = (math.log10(intensity) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(flops_per_s) - self.y[0]) / (self.y[1] - self.y[0])
        return _LEFT + across * (self.right - _LEFT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _BOTTOM - _TOP)


def roofline(analysis: Analysis, width: int = WIDTH) -> Drawing | None:
    """A dot for each operator with products; None where there is none."""
    shown = hardware.dots(analysis)[:_MOST_DOTS]
    if not shown:
        return None
    roofs = hardware.roofs(analysis)
    scale = _scale(shown, roofs, width)
    body = [*_axes(scale), *_roofs(scale, roofs), *_dots(scale, shown)]
    return Drawing(_HEIGHT, "".join(body), _sentence(shown, roofs), width)


def _scale(shown: Sequence[Dot], roofs: Roofs, width: int) -> _Scale:
    across = [dot.intensity for dot in shown]
    up = [dot.flops_per_s for dot in shown] + list(roofs.flops_per_s.values())
    if roofs.bytes_per_s:
        # Where the roofs meet.
        across += [flops / roofs.bytes_per_s for flops in roofs.flops_per_s.values()]
    return _Scale(_decades(across), _decades(up), width)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    return math.floor(low - 0.15), max(math.ceil(high + 0.15), math.floor(low - 0.15) + 1)


def _axes(scale: _Scale) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    # Labels would stand on one another where the picture spans many powers.
    first, last = round(scale.x[0]), round(scale.x[1])
    every = math.ceil(_LEAST_APART * (last - first) / (scale.right - _LEFT))
    for power in range(first, last + 1, every):
        x, _ = scale.at(10.0**power, 10.0 ** scale.y[0])
        yield line(x, _TOP, x, bottom, "grid")
        # The last label ends at the picture's edge.
        yield text(
            min(x, scale.width),
            bottom + 16,
            figure(10.0**power),
            "quiet end" if x + 24 > scale.width else "quiet middle",
        )
    for power in range(round(scale.y[0]), round(scale.y[1]) + 1):
        _, y = scale.at(10.0 ** scale.x[0], 10.0**power)
        yield line(_LEFT, y, scale.right, y, "grid")
        yield text(_LEFT - 8, y + 4, rate(10.0**power, "FLOP"), "quiet end")
    said = "operations for each byte" + (" of inputs and outputs" if scale.width >= WIDTH else "")
    yield text((_LEFT + scale.right) / 2, _HEIGHT - 6, said, "quiet middle")


def _roofs(scale: _Scale, roofs: Roofs) -> Iterator[str]:
    if not roofs.bytes_per_s or not roofs.flops_per_s:
        return
    low, high = 10.0 ** scale.x[0], 10.0 ** scale.x[1]
    best = max(roofs.flops_per_s.values())
    # From the picture's left or lower edge to where the highest roof meets it.
    start = max(low, 10.0 ** scale.y[0] / roofs.bytes_per_s)
    end = min(high, best / roofs.bytes_per_s)
    if start < end:
        yield line(*scale.at(start, start * roofs.bytes_per_s), *scale.at(end, end * roofs.bytes_per_s), "roof")
        middle = math.sqrt(start * end)
        x, y = scale.at(middle, middle * roofs.bytes_per_s)
        words = rate(roofs.bytes_per_s, "B")
        # Left of a line at the edge it would stand on the figures of the axis.
        aside = x - 8 - width_of(words) < _LEFT
        yield text(x + 8, y + 14, words, "strong") if aside else text(x - 8, y - 6, words, "end strong")
    flat = {kind: flops for kind, flops in roofs.flops_per_s.items() if flops / roofs.bytes_per_s < high}
    for flops in flat.values():
        yield line(*scale.at(max(flops / roofs.bytes_per_s, low), flops), *scale.at(high, flops), "roof")
    for y, words in _named(scale, flat):
        yield text(scale.right - 4, y - 5, words, "end strong")


def _named(scale: _Scale, flat: Mapping[str, float]) -> Iterator[tuple[float, str]]:
    """Where the names of flat roofs stand, from the highest down; those of roofs that lie close to each other in one line."""
    formats: dict[float, list[str]] = {}
    for kind, flops in flat.items():
        formats.setdefault(flops, []).append(kind)
    lines: list[tuple[float, list[str]]] = []
    for flops in sorted(formats, reverse=True):
        _, y = scale.at(10.0 ** scale.x[1], flops)
        words = f"{', '.join(formats[flops])} {rate(flops, 'FLOP')}"
        if lines and y - lines[-1][0] < _LINE_APART:
            lines[-1][1].append(words)
        else:
            lines.append((y, [words]))
    return ((y, "; ".join(words)) for y, words in lines)


def _dots(scale: _Scale, shown: Sequence[Dot]) -> Iterator[str]:
    """The longest last, so that none hides behind a smaller one's label; names of the longest where there is room."""
    most = max(dot.ratio for dot in shown)
    labels = []
    taken: list[tuple[float, float]] = []
    for place, dot in enumerate(shown):
        x, y = scale.at(dot.intensity, dot.flops_per_s)
        radius = max(_MOST_RADIUS * math.sqrt(dot.ratio / most), _LEAST_RADIUS) if most else _LEAST_RADIUS
        told = escape(safe.clean(dot.told))
        kind = f"dot {dot.side or 'unknown'}"
        yield f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"><title>{told}</title></circle>'
        if place < _NAMED and all(abs(y - other[1]) > 14 or abs(x - other[0]) > 180 for other in taken):
            taken.append((x, y))
            labels.append(_label(x, y, radius, safe.middle(dot.label, 30), scale))
    yield from labels


def _label(x: float, y: float, radius: float, words: str, scale: _Scale) -> str:
    if x + radius + 4 + width_of(words) > scale.right:
        return text(x - radius - 4, y + 4, words, "halo end")
    return text(x + radius + 4, y + 4, words, "halo")


def _sentence(shown: Sequence[Dot], roofs: Roofs) -> str:
    first = ", ".join(f"{dot.told} ({share(dot.ratio)} of their time)" for dot in shown[:3])
    peaks = ", ".join(f"{kind} {rate(flops, 'FLOP')}" for kind, flops in roofs.flops_per_s.items())
    against = f" Peaks: {peaks}." if peaks else ""
    return f"Roofline of {count(len(shown), 'operator')}, the longest {first}.{against}"
