"""Arguments of optimizers, changed as their classes are called; gradients dropped instead of filled with zeros."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

from .calls import note


def wrap(changes: dict[str, Any], notes: dict[str, Any]) -> None:
    """Make every optimizer of torch's with the changes that concern optimizers; note where each is made.

    Args:
        changes: Values by name: optimizer (`foreach` or `fused`), set-to-none.
        notes: What was applied and the places of the calls.
    """
    optim: Any = importlib.import_module("torch.optim")
    base: Any = importlib.import_module("torch.optim.optimizer").Optimizer
    for kind in {one for one in vars(optim).values() if isinstance(one, type) and issubclass(one, base)}:
        if "__init__" in vars(kind):
            _wrap_kind(kind, changes, notes, known=kind is not base)
    if "set-to-none" in changes:
        module: Any = importlib.import_module("torch.nn").Module
        for owner in (base, module):
            _wrap_zero_grad(owner, notes)


def _wrap_kind(kind: Any, changes: dict[str, Any], notes: dict[str, Any], *, known: bool) -> None:
    init = kind.__init__
    parameters = inspect.signature(init).parameters
    way: str = changes.get("optimizer", "")

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if known or type(self) is kind:
            note(notes["calls"], "optimizer", type(self).__name__)
        if way in parameters:
            kwargs[way] = True
            for other in {"foreach", "fused"} - {way}:
                kwargs.pop(other, None)
            notes["applied"]["optimizer"] = way
        init(self, *args, **kwargs)

    kind.__init__ = __init__


def _wrap_zero_grad(owner: Any, notes: dict[str, Any]) -> None:
    zero_grad = owner.zero_grad

    @functools.wraps(zero_grad)
    def dropped(self: Any, *_: Any, **__: Any) -> Any:
        notes["applied"]["set-to-none"] = True
        return zero_grad(self, set_to_none=True)

    owner.zero_grad = dropped
