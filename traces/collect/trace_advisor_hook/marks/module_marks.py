"""Calls of the program's modules, as ranges of a recording.

`with_stack=True` records them too, and every other Python call with them: on the CPU that made small steps four times as long
(torch 2.15). `with_modules=True` records nothing outside TorchScript.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import weakref
from typing import Any

from ..common import FAILURES
from .ranges import begun, can_mark

_PREFIX = "nn.Module: "
# What marking may take of a step where nobody asked for it.
_CHEAP_RATIO = 0.01
_TRIALS = 64


class ModuleMarks:
    """Marks calls of modules while the profiler is on.

    Global hooks only: nothing of the program's own modules is touched. Compiled code would be compiled again under them, so a
    program that compiles anything keeps its modules unmarked.

    Args:
        wanted: `always`, `cheap` (taken off again after the warm-up where they cost too much) or empty for never.
    """

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.handles: list[Any] = []
        self.calls = 0
        self.call_ns = 0.0
        self.cost_ratio: float | None = None
        self.pid = os.getpid()
        self.labels: dict[int, tuple[Any, str]] = {}
        self.open = threading.local()

    @property
    def on(self) -> bool:
        """Whether calls are marked."""
        return bool(self.handles)

    def start(self, warming_up: bool) -> None:
        """The profiler is on.

        Args:
            warming_up: Whether what comes next is thrown away, so that calls may be tried.
        """
        self.stop()
        torch: Any = sys.modules["torch"]
        if not self.wanted or (self.wanted == "cheap" and not warming_up):
            return
        if not can_mark() or compiles():
            return
        self.pid, self.calls, self.labels, self.open = os.getpid(), 0, {}, threading.local()
        with contextlib.suppress(*FAILURES):
            plain = _time_of_calls(torch) if warming_up else 0.0
            hooks = sys.modules["torch.nn.modules.module"]
            self.handles.append(hooks.register_module_forward_pre_hook(self.enter))
            try:
                # Called where the forward pass raises, too (torch 2.1).
                self.handles.append(hooks.register_module_forward_hook(self.leave, always_call=True))
            except TypeError:
                self.handles.append(hooks.register_module_forward_hook(self.leave))
            self.call_ns = max(_time_of_calls(torch) - plain, 0.0) if warming_up else 0.0
            self.calls = 0

    def warmed_up(self, steps: int, step_ns: int) -> None:
        """The steps that are thrown away are over: stay, or go.

        Args:
            steps: How many they were.
            step_ns: What the last of them took.
        """
        if not self.on or not steps or not step_ns:
            return
        self.cost_ratio = self.calls / steps * self.call_ns / step_ns
        if self.wanted == "cheap" and self.cost_ratio > _CHEAP_RATIO:
            self.stop()

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        handles, self.handles = self.handles, []
        for handle in handles:
            handle.remove()

    def enter(self, module: Any, arguments: Any) -> None:
        """A call begins."""
        if os.getpid() != self.pid:
            return
        self.calls += 1
        stack = self.stack()
        stack.append((module, begun(_PREFIX + self.label(module, not stack))))

    def leave(self, module: Any, arguments: Any, result: Any) -> None:
        """A call ends, and with it those inside it whose end nobody told."""
        stack = self.stack()
        if not any(one is module for one, _ in stack):
            return
        while stack:
            one, mark = stack.pop()
            # One that was entered before the recording began holds nothing, and torch takes its end for a fault of its own.
            with contextlib.suppress(*FAILURES):
                mark.__exit__(None, None, None)
            if one is module:
                return

    def stack(self) -> list[tuple[Any, Any]]:
        """Calls that are open on this thread."""
        found: list[tuple[Any, Any]] | None = getattr(self.open, "stack", None)
        if found is None:
            found = self.open.stack = []
        return found

    def label(self, module: Any, outermost: bool) -> str:
        """`layers.0.linear (Linear)`, by its name in the outermost module that was seen to call it; else its class."""
        known = self.labels.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        own = type(module).__name__
        if outermost:
            for name, inner in module.named_modules():
                self.labels[id(inner)] = (weakref.ref(inner), called(name, inner))
        else:
            self.labels[id(module)] = (weakref.ref(module), own)
        return self.labels[id(module)][1]


def called(name: str, module: Any) -> str:
    """`layers.0.linear (Linear)`: a module by its name in what calls it, and its class; the class alone where that is empty."""
    own = type(module).__name__
    return f"{name} ({own})" if name else own


def compiles() -> bool:
    """Whether the program has compiled anything so far."""
    frames = sys.modules.get("torch._dynamo.convert_frame")
    return bool(getattr(frames, "FRAME_COUNTER", 0))


def _time_of_calls(torch: Any) -> float:
    """What a call of a module that does nothing takes, ns: the least of some rounds, in which nobody else had the core."""
    module = torch.nn.Identity()
    rounds = []
    for _ in range(4):
        begin = time.perf_counter_ns()
        for _ in range(_TRIALS // 4):
            module(None)
        rounds.append((time.perf_counter_ns() - begin) / (_TRIALS // 4))
    return min(rounds)
