"""Numbers as traces write them (int, float, decimal, text, nothing) to arrays, without losing digits."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
_ID_MASK = (1 << 64) - 1
# No clock shows more (126 years). Larger values are cut to it: still absurd, and a start and a duration add up in int64.
LIMIT_US = 4 * 10**15
# What numpy converts exactly enough by itself.
_PLAIN = frozenset((int, float, type(None)))
_FLOATING = frozenset((int, float))
# What packing raises where a value is no such number, or too large for one.
_NOT_PACKED = (struct.error, TypeError, OverflowError)


def _packed(code: str, values: Sequence[Any]) -> npt.NDArray[Any] | None:
    """Numbers of one type as an array (`q`: int64, `d`: float64); None where one is missing, a text or too large.

    A third of what numpy needs for a list, which it looks through for its type first.
    """
    try:
        return np.frombuffer(struct.pack(f"{len(values)}{code}", *values), dtype=code)
    except _NOT_PACKED:
        return None


def small_integers(values: Sequence[int]) -> npt.NDArray[np.int32]:
    """Codes as int32; they were counted, and cannot be too large."""
    return np.frombuffer(struct.pack(f"{len(values)}i", *values), dtype=np.int32)


def nanoseconds(values: Sequence[Any]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Microseconds as written (int, float, Decimal or text) to integer nanoseconds, and which of them were numbers."""
    whole = _packed("q", values)
    if whole is not None:
        return np.clip(whole, -LIMIT_US, LIMIT_US) * 1000, np.ones(len(values), dtype=bool)
    # A decimal would be packed too, rounded.
    plain = _packed("d", values) if _FLOATING.issuperset(map(type, values)) else None
    if plain is not None:
        return _nanoseconds(plain)
    try:
        micros = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        micros = np.array([_number(value) for value in values], dtype=np.float64)
    result, known = _nanoseconds(micros)
    if not _PLAIN.issuperset(map(type, values)):
        for index, value in enumerate(values):
            if type(value) not in _PLAIN:
                exact = exact_nanoseconds(value)
                known[index] = exact is not None
                result[index] = exact or 0
    return result, known


def _nanoseconds(micros: npt.NDArray[np.float64]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Microseconds to nanoseconds, and which of them were numbers.

    The whole and the fractional part are converted apart: their product with 1000 in one float64 would round absolute
    stamps.
    """
    known = np.isfinite(micros)
    micros = np.clip(np.where(known, micros, 0.0), -LIMIT_US, LIMIT_US)
    whole = np.floor(micros)
    return whole.astype(np.int64) * 1000 + np.rint((micros - whole) * 1000).astype(np.int64), known


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def exact_nanoseconds(value: Any) -> int | None:
    """Microseconds of any type to nanoseconds without a rounding step; None where it is no number."""
    try:
        number = value if isinstance(value, Decimal) else Decimal(str(value))
        if not number.is_finite():
            return None
        return int((max(min(number, Decimal(LIMIT_US)), Decimal(-LIMIT_US)) * 1000).to_integral_value())
    except (InvalidOperation, ValueError):
        return None


def integers(values: Sequence[Any]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Ids as written to int64, and which were there.

    Ids up to 64 bits keep their identity: an unsigned one beyond int64 is stored as the int64 of the same bits, so
    equal ids stay equal and different ones different. Never through float64, which merges neighbours above 2**53.
    """
    packed = _packed("q", values)
    if packed is not None:
        return packed, np.ones(len(values), dtype=bool)
    there = [value for value in values if value is not None]
    known = (
        np.array([value is not None for value in values], dtype=bool) if there else np.zeros(len(values), dtype=bool)
    )
    packed = _packed("q", there)
    if packed is not None:
        ids = np.zeros(len(values), dtype=np.int64)
        ids[known] = packed
        return ids, known
    parsed = [_integer(value) for value in values]
    known = np.array([value is not None for value in parsed], dtype=bool)
    return np.array([0 if value is None else value for value in parsed], dtype=np.int64), known


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    if isinstance(value, float):
        value = int(value) if np.isfinite(value) else None
    if value is None:
        return None
    wrapped = int(value) & _ID_MASK
    return wrapped - (1 << 64) if wrapped >= 1 << 63 else wrapped


def floats(values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Numbers as written to float64; NaN where there is none."""
    packed = _packed("d", values)
    if packed is not None:
        return packed
    if values.count(None) == len(values):
        return np.full(len(values), np.nan)
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(value) for value in values], dtype=np.float64)
