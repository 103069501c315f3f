"""What a data set is made of: the data sets inside it, and the transforms that each of them holds."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..software.own_code import is_own

# What holds another data set: torch's Subset and ConcatDataset, torchvision's data sets, timm's, MONAI's, fastai's likewise.
_INNER_DATA = ("dataset", "datasets", "data", "items", "source", "ds")
# `set_transform` of `datasets` keeps its function in `_format_kwargs`.
_HOLDS_TRANSFORMS = re.compile(r"transform|tfm|aug|preprocess|pipeline|_format_kwargs")
# What a transform keeps others in: Compose of torchvision, MONAI and timm, Lambda, modules in a row; webdataset's stages.
_INNER_TRANSFORMS = ("transforms", "tfms", "transform", "lambd", "_modules", "args")
_DEPTH, _MOST_INNER, _MOST_TRANSFORMS = 4, 4, 50
# A list of transforms and each of those it holds are two levels.
_TRANSFORM_DEPTH = 7


def data_sets(data: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """A data set and those inside it, the outermost first."""
    if data is None or depth == 0:
        return
    yield data
    held = _held(data)
    for name in _INNER_DATA:
        inner = held.get(name)
        for one in inner[:_MOST_INNER] if isinstance(inner, list | tuple) else [inner]:
            if hasattr(type(one), "__getitem__") and not isinstance(one, str | bytes | list | tuple | dict):
                yield from data_sets(one, depth - 1)
    generated = _behind_generator(held.get("iterable"))
    if generated is not None:
        yield from data_sets(generated, depth - 1)


def _behind_generator(iterable: Any) -> Any:
    """The data set that a method which is a generator takes samples from, as Keras wraps its `PyDataset`; None for all else."""
    return _owner_of_generator(iterable).get("py_dataset")


def _owner_of_generator(iterable: Any) -> dict[str, Any]:
    """What the object holds whose method is this generator; nothing where it is none, or has ended."""
    frame = getattr(iterable, "gi_frame", None)
    return {} if frame is None else _held(frame.f_locals.get("self"))


def own_workers(data: Any) -> dict[str, Any] | None:
    """Workers that a framework has beside torch's: Keras' `PyDataset` fills a queue from threads, or from processes.

    Args:
        data: The loader's data set, which only takes from that queue.

    Returns:
        How many, and whether they are processes; None where the loader's own settings say all.
    """
    owner = _owner_of_generator(_held(data).get("iterable"))
    asked = _held(owner.get("py_dataset"))
    workers = asked.get("_workers")
    if owner.get("enqueuer") is None or not isinstance(workers, int) or workers < 1:
        return None
    return {"workers": int(workers), "processes": bool(asked.get("_use_multiprocessing"))}


def stream_of(data: Any) -> dict[str, Any] | None:
    """Whether workers share out what a data set without indices yields; None for one with indices, or for none.

    Each worker has a copy that yields everything, unless the data set asks which worker it is in. `splits` is None where that is
    not to be seen: a library's own.
    """
    torchs = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", None)
    if torchs is None or not isinstance(data, torchs):
        return None
    own = [vars(kind)["__iter__"] for kind in type(data).__mro__ if "__iter__" in vars(kind)]
    code = getattr(own[0], "__code__", None) if own else None
    return {"splits": _asks(code) if code is not None and is_own(code.co_filename) else None}


def _asks(code: types.CodeType) -> bool:
    """Whether a function, or one inside it, asks which worker it runs in."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return "get_worker_info" in code.co_names or any(map(_asks, inner))


def transforms_of(data: Any) -> Iterator[Any]:
    """What a data set itself holds under a name of transforms, and what that is made of."""
    for name, value in list(_held(data).items()):
        if _HOLDS_TRANSFORMS.search(name.lower()):
            yield from _flat(value, _TRANSFORM_DEPTH)


def functions_of(data: Any) -> Iterator[Any]:
    """Functions that a data set was given for other things than to transform samples, as `loader=` of torchvision's folders."""
    for name, value in list(_held(data).items()):
        held = getattr(value, "func", value) if type(value) is functools.partial else value
        if type(held) in (types.FunctionType, types.MethodType) and not _HOLDS_TRANSFORMS.search(name.lower()):
            yield held


def _flat(transform: Any, depth: int) -> Iterator[Any]:
    if transform is None or depth == 0:
        return
    if isinstance(transform, dict):
        transform = list(transform.values())
    if isinstance(transform, list | tuple):
        for one in transform[:_MOST_TRANSFORMS]:
            yield from _flat(one, depth - 1)
        return
    yield transform
    held = _held(transform)
    for name in _INNER_TRANSFORMS:
        yield from _flat(held.get(name), depth - 1)


def _held(thing: Any) -> dict[str, Any]:
    """An object's own attributes, without asking it: a property of the user's would run."""
    held = getattr(thing, "__dict__", None)
    return held if isinstance(held, dict) else {}
