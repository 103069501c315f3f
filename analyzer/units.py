"""Numbers as people read them. JSON keeps full integers; only text rounds, and only here."""

from __future__ import annotations

import math
from collections.abc import Sequence


def _significant(value: float) -> str:
    """Two significant digits below ten, whole numbers above."""
    # From 9.95 on one decimal would make three digits: 10.0.
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def duration(ns: float) -> str:
    """A duration in the unit that suits its size: `1.2 s`, `41 ms`, `7.4 ms`, `12 us`, `80 ns`."""
    sign = "-" if ns < 0 else ""
    size = abs(ns)
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        # Compared after rounding, so that 999.6 us becomes 1.0 ms.
        if size >= factor * 0.9995:
            return f"{sign}{_significant(size / factor)} {unit}"
    return f"{sign}{size:.0f} ns"


def stretch(start_ns: int, end_ns: int) -> str:
    """A stretch of time with both edges told apart: `0 ns to 41 ms`, `76.00-76.20 ms (200 us)`."""
    length = end_ns - start_ns
    # Rounded to two digits, the edges of less would read alike.
    if length <= 0 or length * 4 >= end_ns:
        return f"{duration(start_ns)} to {duration(end_ns)}"
    unit, factor = next((one for one in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if end_ns >= one[1]), ("ns", 1.0))
    digits = max(0, math.ceil(math.log10(factor / length)) + 1)
    return f"{start_ns / factor:,.{digits}f}-{end_ns / factor:,.{digits}f} {unit} ({duration(length)})"


def share(ratio: float) -> str:
    """A ratio 0..1 as a percentage: `34 %`, `3.4 %`, `<0.1 %`."""
    percent = ratio * 100
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.0f} %" if percent >= 9.95 or percent == 0 else f"{percent:.1f} %"


# From there on nobody reads a percentage as what it is.
_MANY_TIMES = 5


def change(ratio: float) -> str:
    """What a figure changed by: `+12.3 %`, `-4.0 %`, and from five times on `a factor of 51`."""
    return f"{ratio * 100:+.1f} %" if ratio + 1 < _MANY_TIMES else f"a factor of {ratio + 1:,.0f}"


def slower(ratio: float) -> str:
    """By how much longer something takes: `12.3 % slower`, and from five times on `51 times as long`."""
    return f"{ratio * 100:.1f} % slower" if ratio + 1 < _MANY_TIMES else f"{ratio + 1:,.0f} times as long"


def size(count_bytes: float) -> str:
    """Bytes in powers of 1024: `512 B`, `1.5 MiB`."""
    value = float(count_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{_significant(value)} {unit}"
        value /= 1024
    return f"{_significant(value)} TiB"


def figure(value: float) -> str:
    """A bare number: `1,200`, `151`, `9.3`, `2`, `0.05`."""
    if value == int(value) or abs(value) >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 0.95 else f"{value:.2g}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 step`, `6 steps`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Several things as a sentence names them: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def rate(per_s: float, unit: str) -> str:
    """A rate in powers of 1000: `55 TFLOP/s`, `193 GB/s`.

    Args:
        per_s: A second.
        unit: Of what: `FLOP`, `B`.
    """
    for prefix, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # Makers give tera for thousands of them: 1,307 TFLOP/s.
        if abs(per_s) >= factor * (9.9995 if prefix == "P" else 0.9995):
            return f"{_significant(per_s / factor)} {prefix}{unit}/s"
    return f"{per_s:.0f} {unit}/s"
