"""Bytes and tensors of what a batch, or a sample, holds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from ..common import FAILURES

_MOST_DEPTH = 5
_MOST_SIDE_BY_SIDE = 64
_SIDES = (Mapping, list, tuple)


def bytes_of(batch: Any, depth: int = 0) -> int | None:
    """Bytes of the tensors and arrays in a batch, which are nearly all of it; None where a part does not show what it holds.

    Args:
        batch: A batch, a sample, or a part of one.
        depth: How far inside a batch it lies.
    """
    return _sum_of(batch, _own, depth)


def tensors_in(batch: Any, depth: int = 0) -> int | None:
    """Tensors in a batch, each of which a worker hands over by itself; None where a part does not show what it holds.

    Args:
        batch: A batch, or a part of one.
        depth: How far inside a batch it lies.
    """
    return _sum_of(batch, _tensors, depth)


def _sum_of(thing: Any, counted: Callable[[Any], int | None], depth: int) -> int | None:
    """What is counted of a thing itself, or of all its parts; None where one does not show what it holds."""
    own = counted(thing)
    if own is not None:
        return own
    parts = _parts(thing) if depth < _MOST_DEPTH else None
    if parts is None:
        return None
    found = [_sum_of(part, counted, depth + 1) for part in parts]
    return None if None in found else sum(one for one in found if one is not None)


def _tensors(thing: Any) -> int | None:
    """One of a tensor, none of what else `_own` knows; None of what holds other things."""
    return 1 if hasattr(thing, "element_size") else None if _own(thing) is None else 0


def _own(thing: Any) -> int | None:
    """Bytes of a tensor or an array; none of a word or a number, which are few; None of what holds other things."""
    if hasattr(thing, "element_size"):
        return int(thing.element_size() * thing.numel())
    if isinstance(thing, str | bytes | int | float | complex | None):
        return 0
    size = getattr(thing, "nbytes", None)
    return size if isinstance(size, int) else None


def _parts(thing: Any) -> list[Any] | None:
    """What a thing is made of; None where it does not show it."""
    if not isinstance(thing, _SIDES):
        with contextlib.suppress(*FAILURES):
            # Graphs of PyTorch Geometric tell what they hold; of an object of another library's its fields do.
            thing = thing.to_dict() if hasattr(thing, "to_dict") else _fields(thing)
    if not isinstance(thing, _SIDES):
        return None
    return list(thing.values() if isinstance(thing, Mapping) else thing)


def _fields(thing: Any) -> dict[str, Any] | None:
    """Fields of an object that are tensors, or a few things side by side; what else it refers to may be all there is.

    None where there are none: what it holds lies elsewhere.
    """
    slots = [name for kind in type(thing).__mro__ for name in _names(getattr(kind, "__slots__", ()))]
    named = {name: getattr(thing, name) for name in slots if hasattr(thing, name)} | getattr(thing, "__dict__", {})
    return {name: value for name, value in named.items() if _counts(value)} or None


def _names(slots: Any) -> tuple[str, ...]:
    """A class may name one slot by a word alone."""
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _counts(value: Any) -> bool:
    # Of an array a number type is known, not `element_size`.
    measured = hasattr(value, "element_size") or hasattr(value, "nbytes")
    return measured or (isinstance(value, _SIDES) and len(value) <= _MOST_SIDE_BY_SIDE)
