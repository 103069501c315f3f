"""Steps of a program that only runs its model: the calls of the outermost module.

Which module that is, is seen in the main thread's stack, from another thread. Only that one object is then watched, and only until
the recording is over: a hook on all modules would be felt in every one of them.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from ..watcher import Watcher

# Seen so often in a row, a module is what the program runs again and again.
_LOOKS = 2


class BeforeForward:
    """A hook of a module's, called before its forward pass.

    A module may be saved or copied with it: what comes back then is a function that returns the arguments it is given.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.handle: Any = None

    def __call__(self, module: Any, arguments: Any) -> None:
        """A step begins, unless it is one of training, whose steps are others."""
        if threading.current_thread() is not threading.main_thread():
            return
        known = self.watcher.source not in ("", "forward")
        if known or self.watcher.phase == "done" or sys.modules["torch"].is_grad_enabled():
            self.handle.remove()
            return
        self.watcher.before_forward(arguments, sys._getframe(1).f_locals.get("kwargs"))

    def __reduce__(self) -> Any:
        return getattr, ({}, "get")


class Finder:
    """Looks for the module that a program calls."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.seen: Any = None
        self.times = 0
        self.hook: BeforeForward | None = None

    def look(self) -> None:
        """See what the main thread is in; the same module as before is watched from now on."""
        if self.hook is not None:
            return
        module = _outermost(sys._current_frames().get(threading.main_thread().ident or 0))
        if module is None:
            return
        self.times = self.times + 1 if module is self.seen else 1
        self.seen = module
        # Where there are hooks already, the main thread may be going through them now.
        if self.times >= _LOOKS and not module._forward_pre_hooks:
            self.hook = BeforeForward(self.watcher)
            self.hook.handle = module.register_forward_pre_hook(self.hook)
            self.seen = None


def _outermost(frame: Any) -> Any:
    """The module whose call is the outermost of a stack; None where there is none."""
    code = sys.modules["torch"].nn.Module._call_impl.__code__
    found = None
    while frame is not None:
        if frame.f_code is code:
            found = frame.f_locals.get("self")
        frame = frame.f_back
    return found
