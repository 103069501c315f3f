"""Which of the user's functions make a loader's batches: methods of the data set and the sampler, collate function, transforms."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from .common import FAILURES
from .own_code import is_own, qualified

# What holds another data set or other transforms: torch's Subset and ConcatDataset, torchvision's data sets and Compose,
# timm's, MONAI's and Hugging Face's likewise.
_INNER_DATA = ("dataset", "datasets", "data", "items", "source")
_TRANSFORMS = ("transform", "target_transform", "transforms", "pre_transform", "augmentation", "_transform")
_MAKES_SAMPLES = ("__getitems__", "__getitem__", "__iter__", "get", "_transform")
_DEPTH, _MOST = 4, 20


def loader_code(loader: Any) -> list[dict[str, Any]]:
    """Rows of role, name, file and first line (of the definition), the nearest to the sample first; none is a library's.

    Args:
        loader: A `DataLoader`; None where there is none, which gives no rows.
    """
    rows: list[dict[str, Any]] = []
    seen: set[types.CodeType] = set()
    try:
        for role, thing, names in _parts(loader):
            for code, owner in _codes(thing, names):
                if code not in seen and is_own(code.co_filename) and len(rows) < _MOST:
                    seen.add(code)
                    rows.append(
                        {
                            "role": role,
                            "name": qualified(code, owner),
                            "file": code.co_filename,
                            "line": code.co_firstlineno,
                        }
                    )
    except FAILURES:  # the user's objects may answer anything, at any attribute
        return rows
    return rows


def _parts(loader: Any) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """What takes part in making a batch: its role, the object, and the methods that would be called."""
    data = getattr(loader, "dataset", None)
    yield from _data(data, _DEPTH)
    yield "collate", getattr(loader, "collate_fn", None), ("__call__",)
    for name in ("batch_sampler", "sampler"):
        yield "sampler", getattr(loader, name, None), ("__iter__",)


def _data(data: Any, depth: int) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    if data is None or depth == 0:
        return
    yield "dataset", data, _MAKES_SAMPLES
    held = _held(data)
    for name in _TRANSFORMS:
        yield from _transforms(held.get(name), depth)
    for name in _INNER_DATA:
        inner = held.get(name)
        several = inner[:4] if isinstance(inner, list | tuple) else [inner]
        for one in several:
            if hasattr(type(one), "__getitem__") and not isinstance(one, str | bytes | list | tuple | dict):
                yield from _data(one, depth - 1)


def _transforms(transform: Any, depth: int) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    if transform is None or depth == 0:
        return
    if isinstance(transform, list | tuple):
        for one in transform[:_MOST]:
            yield from _transforms(one, depth - 1)
        return
    yield "transform", transform, ("__call__", "forward")
    held = _held(transform)
    for name in ("transforms", "transform", "lambd", "_modules"):
        inner = held.get(name)
        yield from _transforms(list(inner.values()) if isinstance(inner, dict) else inner, depth - 1)


def _held(thing: Any) -> dict[str, Any]:
    """An object's own attributes, without asking it: a property of the user's would run."""
    held = getattr(thing, "__dict__", None)
    return held if isinstance(held, dict) else {}


def _codes(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[types.CodeType, Any]]:
    """The code that runs when a thing is called, or when one of its methods is."""
    while hasattr(thing, "func") and hasattr(thing, "args"):  # functools.partial
        thing = thing.func
    if isinstance(thing, types.MethodType):
        yield thing.__func__.__code__, thing.__self__
        return
    if isinstance(thing, types.FunctionType):
        yield thing.__code__, None
        return
    for name in names:
        method = next((vars(kind)[name] for kind in type(thing).__mro__ if name in vars(kind)), None)
        if isinstance(method, types.FunctionType):
            yield method.__code__, thing
