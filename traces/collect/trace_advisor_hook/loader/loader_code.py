"""Which of the user's functions make a loader's batches: methods of the data set and the sampler, collate function, transforms."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from ..common import FAILURES
from ..software.own_code import is_own, qualified
from .dataset_parts import data_sets, functions_of, transforms_of
from .opened import opened_by, read_whole
from .sample_code import SampleCode
from .tables import tables_of

_MAKES_SAMPLES = ("__getitems__", "__getitem__", "__iter__", "get", "_transform")
_MOST = 20


def loader_code(loader: Any) -> list[dict[str, Any]]:
    """Rows of role, name, file and first line (of the definition), the nearest to the sample first; none is a library's.

    Of a data set's own, where there are any: `tables` it takes rows of, what it `opens` for each sample, and the attribute with the
    path of the file that each sample `reads`.

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
                    row = {
                        "role": role,
                        "name": qualified(code, owner),
                        "file": code.co_filename,
                        "line": code.co_firstlineno,
                    }
                    rows.append(row | (_habits(SampleCode(code, owner)) if role == "dataset" else {}))
    except FAILURES:  # the user's objects may answer anything, at any attribute
        return rows
    return rows


def _habits(code: SampleCode) -> dict[str, Any]:
    """What is known to be slow in the code of a sample."""
    told = {"tables": tables_of(code), "opens": opened_by(code), "reads": read_whole(code)}
    return {key: value for key, value in told.items() if value}


def _parts(loader: Any) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """What takes part in making a batch: its role, the object, and the methods that would be called."""
    for one in data_sets(getattr(loader, "dataset", None)):
        yield "dataset", one, _MAKES_SAMPLES
        for held in functions_of(one):
            yield "dataset", held, ()
        for transform in transforms_of(one):
            yield "transform", transform, ("__call__", "forward")
    collate = getattr(loader, "collate_fn", None)
    # transformers' Trainer hands the program's own only the columns that the model takes.
    for one in (getattr(collate, "data_collator", None), collate):
        yield "collate", one, ("__call__",)
    for name in ("batch_sampler", "sampler"):
        yield "sampler", getattr(loader, name, None), ("__iter__",)


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
