"""Ranges of `record_function` that are open from one profiler's session into the next."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from typing import Any

from ..common import FAILURES


class OpenRanges:
    """Ends ranges that were opened in one session before another begins.

    Torch (2.15 too) writes the end of a range into the memory of the session it was opened in, also where that session is over and
    its memory is in use for something else: whenever any session is on as the range is closed. A script that never has two sessions
    never meets this; ours is the second. An ended range stays as it is when the script closes it.
    """

    def __init__(self) -> None:
        self.after_ours = self.after_theirs = False

    def before_session(self, ours: bool) -> None:
        """A session is about to begin, and none is on; ours or the script's own."""
        if self.after_ours or (ours and self.after_theirs):
            end_all()
            self.after_ours = self.after_theirs = False
        if ours:
            self.after_ours = True
        else:
            self.after_theirs = True


def end_all() -> None:
    """End every open range of this process; without a session that writes nothing."""
    profiler = importlib.import_module("torch.autograd.profiler")
    finish = sys.modules["torch"].ops.profiler._record_function_exit._RecordFunction
    # By identity of the type: `isinstance` would ask objects for `__class__`, which some answer with code of their own. A wrapped
    # `__enter__` would find them faster, but could no longer be compiled by TorchScript.
    kinds = {id(kind) for kind in _with_subclasses(profiler.record_function)}
    for found in gc.get_objects():
        if id(type(found)) in kinds:
            handle = vars(found).get("record")
            if handle is not None:
                with contextlib.suppress(*FAILURES):
                    finish(handle)


def _with_subclasses(kind: type) -> list[type]:
    found: list[Any] = [kind]
    for one in found:
        found += type.__subclasses__(one)
    return found
