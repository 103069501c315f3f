"""Autocast, channels-last and `torch.compile`: put around the forward of the outermost module when it is first called."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from typing import Any

from .calls import note

NAMES = ("autocast", "channels-last", "compile")


def wrap(changes: dict[str, Any], notes: dict[str, Any]) -> None:
    """Wait for the first call of a module with gradients on; change that one object, and stop watching.

    Args:
        changes: Values by name: autocast (a dtype's name), channels-last, compile (a mode).
        notes: What was applied, what was refused, and the place of the call.
    """
    module: Any = importlib.import_module("torch.nn").Module
    call = module.__call__

    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        torch: Any = sys.modules["torch"]
        if not torch.is_grad_enabled() or threading.current_thread() is not threading.main_thread():
            return call(self, *args, **kwargs)
        if not any(parameter.requires_grad for parameter in self.parameters()):
            return call(self, *args, **kwargs)
        module.__call__ = call
        note(notes["calls"], "model", type(self).__name__)
        _change(torch, self, changes, notes)
        return self(*args, **kwargs)

    module.__call__ = __call__


def _change(torch: Any, model: Any, changes: dict[str, Any], notes: dict[str, Any]) -> None:
    device = next(model.parameters()).device.type
    if "channels-last" in changes:
        model.to(memory_format=torch.channels_last)
        model.forward = _with_layout(torch, model.forward)
        notes["applied"]["channels-last"] = True
    if "compile" in changes:
        model.forward = torch.compile(model.forward, mode=changes["compile"])
        notes["applied"]["compile"] = changes["compile"]
    if "autocast" in changes:
        dtype = getattr(torch, changes["autocast"])
        model.forward = _with_autocast(torch, model.forward, device, dtype)
        notes["applied"]["autocast"] = changes["autocast"]


def _with_layout(torch: Any, forward: Any) -> Any:
    def laid(value: Any) -> Any:
        images = hasattr(value, "dim") and value.dim() == 4
        return value.contiguous(memory_format=torch.channels_last) if images else value

    @functools.wraps(forward)
    def with_layout(*args: Any, **kwargs: Any) -> Any:
        return forward(*map(laid, args), **{name: laid(value) for name, value in kwargs.items()})

    return with_layout


def _with_autocast(torch: Any, forward: Any, device: str, dtype: Any) -> Any:
    @functools.wraps(forward)
    def with_autocast(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device, dtype=dtype):
            result = forward(*args, **kwargs)
        return _in_single(torch, result, dtype)

    return with_autocast


def _in_single(torch: Any, value: Any, dtype: Any) -> Any:
    """Results in single precision again: a loss outside of the model expects that."""
    if hasattr(value, "dtype") and value.dtype == dtype:
        return value.float()
    if type(value) in (list, tuple):
        return type(value)(_in_single(torch, part, dtype) for part in value)
    if type(value) is dict:
        return {name: _in_single(torch, part, dtype) for name, part in value.items()}
    return value
