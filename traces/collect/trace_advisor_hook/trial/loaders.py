"""Arguments of loaders, changed as `DataLoader.__init__` is called."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

from .calls import note
from .in_memory import CannotHoldError, held

# What a loader does where it is told nothing.
_UNSAID = {"num_workers": 0, "pin_memory": False, "prefetch_factor": 2, "persistent_workers": False}
# What has no meaning without workers.
_OF_WORKERS = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context", "worker_init_fn")


def wrap(changes: dict[str, Any], notes: dict[str, Any]) -> None:
    """Make every loader with the changes that concern loaders; note where each is made.

    Args:
        changes: Values by name: workers, prefetch, persistent, pinned, in-memory.
        notes: What was applied, what was refused and why, and the places of the calls.
    """
    loader: Any = importlib.import_module("torch.utils.data.dataloader").DataLoader
    init = loader.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        note(notes["calls"], "loader", type(self).__name__)
        bound = signature.bind(self, *args, **kwargs)
        values = dict(bound.arguments)
        values.pop("self")
        if any(name in changes for name in ("workers", "prefetch", "persistent", "pinned", "in-memory")):
            _change(values, changes, notes)
        init(self, **values)

    loader.__init__ = __init__


def _change(values: dict[str, Any], changes: dict[str, Any], notes: dict[str, Any]) -> None:
    data = values.get("dataset")
    if not hasattr(type(data), "__getitem__"):
        notes["refused"]["loader"] = "an iterable data set gives every worker all samples unless it divides them itself"
        return
    if "in-memory" in changes and not _hold(values, changes["in-memory"], notes):
        return
    for name, argument in (("workers", "num_workers"), ("pinned", "pin_memory")):
        _set(values, changes, notes, name, argument)
    if not values.get("num_workers", 0):
        for name in _OF_WORKERS:
            values.pop(name, None)
        return
    for name, argument in (("prefetch", "prefetch_factor"), ("persistent", "persistent_workers")):
        _set(values, changes, notes, name, argument)


def _set(values: dict[str, Any], changes: dict[str, Any], notes: dict[str, Any], name: str, argument: str) -> None:
    if name not in changes:
        return
    # What the script has already changes nothing: turns of it would tell chance from chance.
    if (values.get(argument) or _UNSAID[argument]) != changes[name]:
        notes["applied"][name] = changes[name]
    values[argument] = changes[name]


def _hold(values: dict[str, Any], how: str, notes: dict[str, Any]) -> bool:
    """Put the data set into memory, and load in the training process; whether that could be done."""
    try:
        values["dataset"], collate = held(values["dataset"], values.get("collate_fn"), how)
    except CannotHoldError as error:
        notes["refused"]["in-memory"] = str(error)
        return False
    if collate is not None:
        values["collate_fn"] = collate
    notes["applied"]["in-memory"], values["num_workers"] = how, 0
    return True
