"""Calls of all modules, while a few steps before the recording are looked at."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..common import FAILURES
from ..marks.signature import Signature, Unknown

# A step of more takes as long to look at as to run.
_MOST_CALLS = 4000


class Call:
    """One call of a module that has not come back.

    Args:
        module: The module.
        root: The outermost module that is being called.
        signature: What it is called with; None where nobody can tell two such calls apart.
    """

    def __init__(self, module: Any, root: Any, signature: Signature | None) -> None:
        self.module, self.root, self.signature = module, root, signature
        self.scope: str | None = None
        # Whether its result, or that of a call around it, is known: then so are those inside.
        self.known = False
        # Where the generators of random numbers stood when it began, as far as that matters.
        self.states: tuple[Any, ...] = ()

    @property
    def key(self) -> tuple[int, Any] | None:
        """The same for the same call; None where nobody can tell."""
        return None if self.signature is None else (id(self.module), self.signature.key)


class Calls:
    """Tells of each call on the main thread outside backward passes, in which checkpoints compute again on purpose.

    Args:
        entered: Called as a call begins, with it and the one around it.
        left: Called as it ends, with its result.
        busy: Whether a backward pass runs.
    """

    def __init__(
        self, entered: Callable[[Call, Call | None], None], left: Callable[[Call, Any], None], busy: Callable[[], bool]
    ) -> None:
        self.entered, self.left, self.busy = entered, left, busy
        self.handles: list[Any] = []
        self.stack: list[Call] = []
        self.count = 0
        # Whether some step has had more calls than can be looked at.
        self.too_many = False
        self.pid = os.getpid()

    def start(self) -> None:
        """From the next call on."""
        self.stop()
        self.count, self.too_many, self.pid = 0, False, os.getpid()
        hooks = sys.modules["torch.nn.modules.module"]
        with contextlib.suppress(*FAILURES):
            self.handles.append(hooks.register_module_forward_pre_hook(self.enter))
            # Called where the forward pass raises, too (torch 2.1): below that, nobody looks.
            self.handles.append(hooks.register_module_forward_hook(self.leave, always_call=True))

    def stop(self) -> None:
        """Leave the modules alone."""
        handles, self.handles, self.stack = self.handles, [], []
        for handle in handles:
            handle.remove()

    def next_step(self) -> None:
        """A step is over."""
        self.count = 0

    def enter(self, module: Any, arguments: Any) -> None:
        """A call begins."""
        if os.getpid() != self.pid or threading.current_thread() is not threading.main_thread() or self.busy():
            return
        self.count += 1
        self.too_many |= self.count > _MOST_CALLS
        if self.too_many or is_being_traced():
            return
        call = Call(module, self.stack[0].module if self.stack else module, None)
        with contextlib.suppress(*FAILURES):
            # Hooks of all modules are given no arguments by name; where they are called, they stand beside the others.
            named = sys._getframe(1).f_locals.get("kwargs")
            with contextlib.suppress(Unknown):
                call.signature = Signature(arguments, named)
            self.entered(call, self.stack[-1] if self.stack else None)
        self.stack.append(call)

    def leave(self, module: Any, arguments: Any, result: Any) -> None:
        """A call ends, and with it those inside it whose end nobody told."""
        if threading.current_thread() is not threading.main_thread() or self.busy():
            return
        if not any(one.module is module for one in self.stack):
            return
        while self.stack:
            call = self.stack.pop()
            if call.module is module:
                with contextlib.suppress(*FAILURES):
                    self.left(call, result)
                return


def is_being_traced() -> bool:
    """Whether what a module does is being written down, by TorchScript or into a CUDA graph: a look at results would be, too."""
    torch: Any = sys.modules["torch"]
    with contextlib.suppress(*FAILURES):
        capturing = torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
        return bool(capturing or torch._C._get_tracing_state() is not None)
    return False
