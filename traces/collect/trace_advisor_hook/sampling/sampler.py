"""What a program does in steps that take long: its stack, looked at now and then from another thread.

A thread keeps the interpreter's lock for 5 ms unless it calls what lets go of it: looked at where it does, it is never found in the
Python code of an environment's step that takes 1 ms. So the look is taken a little later, with the lock changing hands sooner.

Only while a step is already three times as long as usual: else the thread only wakes and sleeps again. What it takes of a core is
told with the samples (`cpu_ns`); measured with transformers' Trainer on 2 busy cores: 72 ms for 122 looks.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

from ..common import FAILURES, NAME
from ..software.own_code import is_own
from ..steps.course import Course
from .environments import Environments

PERIOD_S = 0.05
# How long after waking up it looks at most, and how soon the thread has to give up the interpreter's lock then. It wakes up where
# the thread lets go of it, at the latest after 5 ms: looks are spread over as much, by the golden ratio, which falls in step with
# no loop.
_LATER_S, _SWITCH_S, _SPREAD = 0.005, 5e-5, 0.618034
# One look at a time, and no fork during one: who begins, or is forked, while the interval is short would take it for the usual one.
_LOOKING = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOOKING.acquire, after_in_parent=_LOOKING.release, after_in_child=_LOOKING.release)
# Places kept apart; further ones are not counted by name.
_MOST_PLACES = 500
# Functions below the first that tell what it is for: a hook of a framework's may save or evaluate.
_CHAIN = 4
# Frames that call whatever the program wants called, and say nothing of it.
_WRAPPERS = ("torch/nn/modules/module.py", "torch/utils/_contextlib.py", "contextlib.py", "functools.py")
# What torch wraps around the `step` of every optimizer, and around it for a scheduler that counts them.
_STEP_WRAPPERS = ("torch/optim/optimizer.py", "torch/optim/lr_scheduler.py")
_STEP_WRAPPER_NAMES = ("wrapper", "_use_grad")
# The whole of the hook, of which this file is in a room.
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_Functions = tuple[tuple[str, str], ...]
_Place = tuple[_Functions, int, str, str, bool, bool]


class Sampler:
    """Samples the thread of the steps, and counts by place.

    A place is the first functions that the stack of an ordinary step does not hold, outermost first, and the innermost line of the
    program's own that leads to them; where no line of its own does, the line that calls the first.

    Args:
        course: Knows when the step began, and from when on it is long.
    """

    def __init__(self, course: Course) -> None:
        self.course = course
        self.paused = False
        self.counts: dict[_Place, int] = {}
        self.samples = 0
        self.cpu_ns = 0
        self._usual: list[CodeType] = []
        self._thread = 0
        self._looks = 0
        self._environments = Environments()
        self._ended = threading.Event()

    def begin(self) -> None:
        """Start, called where an ordinary step ends: what the stack holds now is not what makes a step long."""
        self._usual = [frame.f_code for frame in _stack(sys._getframe(1))]
        self._thread = threading.get_ident()
        threading.Thread(target=self._run, daemon=True, name=NAME).start()

    @property
    def begun(self) -> bool:
        """Whether it looks at a thread."""
        return bool(self._thread)

    def end(self) -> None:
        """Stop for good."""
        self._ended.set()

    def anew(self) -> Sampler:
        """Stop, and hand over to one that knows nothing: what were ordinary steps are none of the loop that begins now."""
        self.end()
        return Sampler(self.course)

    def told(self) -> dict[str, Any]:
        """The places, most time first, JSON-able; `cpu_ns` is what sampling took of a core."""
        ranked = sorted(self.counts.items(), key=lambda item: -item[1])
        names = ("functions", "line", "in_function", "in_file", "own", "environment")
        return {
            "sample_ns": round(PERIOD_S * 1e9),
            "samples": self.samples,
            "cpu_ns": self.cpu_ns,
            "places": [dict(zip(names, place, strict=True)) | {"samples": count} for place, count in ranked],
        }

    def _run(self) -> None:
        while not self._ended.wait(PERIOD_S):
            if self.paused or not self.course.is_long():
                continue
            stack = self._look()
            if not stack:
                return
            try:
                # Asked only now: whoever asks the system lets go of the lock, and the stack would be another.
                if not self.paused and self.course.is_long():
                    self._count(stack)
            except FAILURES:
                return
            finally:
                del stack
            self.cpu_ns = time.thread_time_ns()

    def _look(self) -> list[FrameType]:
        """The thread's stack at any time of its work, not where it lets go of the interpreter's lock; empty once it has ended."""
        with _LOOKING:
            usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(usual_s, _SWITCH_S))
            try:
                self._looks += 1
                time.sleep(_LATER_S * (self._looks * _SPREAD % 1.0))
                return _stack(sys._current_frames().get(self._thread))
            finally:
                sys.setswitchinterval(usual_s)

    def _count(self, stack: list[FrameType]) -> None:
        shared = 0
        while shared < min(len(stack), len(self._usual)) and stack[shared].f_code is self._usual[shared]:
            shared += 1
        self.samples += 1
        if not shared:
            return
        above, below = stack[:shared], stack[shared:]
        caller = next((frame for frame in reversed(above) if is_own(frame.f_code.co_filename)), above[-1])
        named = [frame for frame in below if not _is_wrapper(frame)][:_CHAIN] or below[:1] or above[-1:]
        acts = any(map(self._environments.holds, below))
        place = (
            tuple(map(_named, named)),
            caller.f_lineno or 0,
            *_named(caller),
            is_own(caller.f_code.co_filename),
            acts,
        )
        if place in self.counts or len(self.counts) < _MOST_PLACES:
            self.counts[place] = self.counts.get(place, 0) + 1


def _stack(frame: FrameType | None) -> list[FrameType]:
    """The frames of a thread that are not ours, outermost first."""
    frames = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_HERE):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _is_wrapper(frame: FrameType) -> bool:
    code = frame.f_code
    file = code.co_filename.replace("\\", "/")
    return file.endswith(_WRAPPERS) or (file.endswith(_STEP_WRAPPERS) and code.co_name in _STEP_WRAPPER_NAMES)


def _named(frame: FrameType) -> tuple[str, str]:
    code = frame.f_code
    return getattr(code, "co_qualname", code.co_name), code.co_filename
