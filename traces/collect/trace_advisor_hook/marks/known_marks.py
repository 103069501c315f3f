"""Ranges around calls that compute what is known, in the recorded steps: hooks on these modules alone."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..common import FAILURES
from .ranges import begun
from .scope import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP
from .signature import Signature, Unknown


class OfModule:
    """Both hooks of one module.

    A module may be saved or copied with them: what comes back then is a function that does nothing.

    Args:
        names: What a range is named, by how far back the result lies.
        busy: Whether a backward pass runs.
    """

    def __init__(self, names: dict[str, str], busy: Callable[[], bool]) -> None:
        self.names, self.busy = names, busy
        self.pid = os.getpid()
        self.handles: list[Any] = []
        self.open: list[Any] = []
        self.in_step: dict[Any, Any] = {}
        self.in_step_before: dict[Any, Any] = {}

    def hold(self, module: Any) -> None:
        """Watch the module's calls from now on."""
        self.handles.append(module.register_forward_pre_hook(Before(self)))
        self.handles.append(module.register_forward_hook(After(self), always_call=True))

    def end(self) -> None:
        """Leave the module alone."""
        handles, self.handles, self.open = self.handles, [], []
        for handle in handles:
            handle.remove()

    def next_step(self) -> None:
        """A step is over."""
        self.in_step_before, self.in_step = self.in_step, {}

    def looked_at(self) -> bool:
        """Whether a call is one that the program makes itself, outside a backward pass."""
        return os.getpid() == self.pid and threading.current_thread() is threading.main_thread() and not self.busy()

    def begin(self, arguments: Any, named: Any) -> None:
        """A call begins."""
        mark = None
        with contextlib.suppress(*FAILURES):
            scope = self._scope(arguments, named)
            if scope is not None:
                mark = begun(self.names[scope])
        self.open.append(mark)

    def over(self) -> None:
        """The innermost call has come back."""
        mark = self.open.pop() if self.open else None
        if mark is not None:
            with contextlib.suppress(*FAILURES):
                mark.__exit__(None, None, None)

    def _scope(self, arguments: Any, named: Any) -> str | None:
        """How far back the result of such a call lies, of what was found; None where it is not known."""
        if set(self.names) == {IN_EACH_EPOCH}:
            return IN_EACH_EPOCH
        with contextlib.suppress(Unknown):
            signature = Signature(arguments, named)
            known, before = signature.key in self.in_step, signature.key in self.in_step_before
            self.in_step.setdefault(signature.key, signature.kept)
            if known and IN_STEP in self.names:
                return IN_STEP
            if before and IN_EACH_STEP in self.names:
                return IN_EACH_STEP
        return IN_EACH_EPOCH if IN_EACH_EPOCH in self.names else None


class Before:
    """A hook of a module's, called before its forward pass."""

    def __init__(self, of: OfModule) -> None:
        self.of = of

    def __call__(self, module: Any, arguments: Any) -> None:
        """A call begins."""
        if self.of.looked_at():
            self.of.begin(arguments, sys._getframe(1).f_locals.get("kwargs"))

    def __reduce__(self) -> Any:
        return getattr, ({}, "get")


class After:
    """A hook of a module's, called behind its forward pass."""

    def __init__(self, of: OfModule) -> None:
        self.of = of

    def __call__(self, module: Any, arguments: Any, result: Any) -> None:
        """A call has come back."""
        if self.of.looked_at():
            self.of.over()

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")
