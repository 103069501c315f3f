"""What a program does in steps that take long: its stack, looked at now and then from another thread.

A thread keeps the interpreter's lock for 5 ms unless it calls what lets go of it: looked at where it does, it is never found in the
Python code of an environment's step that takes 1 ms. So the look is taken a little later, with the lock changing hands sooner.
Where a pass of the garbage collector kept the lock for longer than the time to the next look, the look is taken at once, and counts
for all that were missed: the thread still stands where the pass began.

It looks while a step already takes longer than usual, and keeps what it saw of those that become three times as long. At usual
steps it looks now and then, to tell what they do as well: a step that is long at the same work, on a busy machine or with longer
sequences, holds none of another kind. What it takes of a core is told with the samples (`cpu_ns`); measured with transformers'
Trainer on 2 busy cores: 72 ms for 122 looks.
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
from .held_lock import HeldLock

PERIOD_S = 0.05
# How long after waking up it looks at most, and how soon the thread has to give up the interpreter's lock then. It wakes up where
# the thread lets go of it, at the latest after 5 ms: looks are spread over as much, by the golden ratio, which falls in step with
# no loop.
_LATER_S, _SWITCH_S, _SPREAD = 0.005, 5e-5, 0.618034
# One look at a time, and no fork during one: who begins, or is forked, while the interval is short would take it for the usual one.
_LOOKING = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOOKING.acquire, after_in_parent=_LOOKING.release, after_in_child=_LOOKING.release)
# A look at a usual step comes each time it wakes until there are a few, for a short run on fast cores is over soon; then every
# third time (0.15 s) until there are enough, and each 3 s after that.
_FEW_USUAL, _USUAL_EVERY, _ENOUGH_USUAL, _USUAL_LATER = 24, 3, 100, 64
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


class _Undecided:
    """What was seen in a step of which it is not known yet whether it becomes long.

    Each place comes with how many looks it counts for.

    Args:
        step: How many had ended before it.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self.late: list[tuple[_Place | None, int]] = []
        self.any_time: list[tuple[_Place | None, int]] = []


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
        self.usual_counts: dict[_Place, int] = {}
        self.usual_samples = 0
        self.cpu_ns = 0
        self._usual: list[CodeType] = []
        self._thread = 0
        self._looks = 0
        self._wakes = 0
        self._undecided = _Undecided(-1)
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
        return {
            "sample_ns": round(PERIOD_S * 1e9),
            "samples": self.samples,
            "cpu_ns": self.cpu_ns,
            "places": _ranked(self.counts),
            "usual": {"samples": self.usual_samples, "places": _ranked(self.usual_counts)},
        }

    def _run(self) -> None:
        held = HeldLock(PERIOD_S)
        held.begin()
        while not self._ended.wait(PERIOD_S):
            going_on = self._wake(held)
            held.begin()
            if not going_on:
                break
        held.end()

    def _wake(self, held: HeldLock) -> bool:
        """Look if there is something to see; no where there will be nothing any more."""
        # Before anything is asked of the system: whoever does lets go of the lock, and the stack would be another.
        missed = held.missed()
        stack = self._look(at_once=True) if missed and not self.paused else []
        step, late = self.course.steps, self.course.may_be_late()
        self._wakes += 1
        self._decide()
        turn = self._is_turn()
        try:
            if stack:
                self._note(self._place(held.where(stack), held.name), 1 + missed, step, late=late, turn=turn)
                return True
            return self._look_now(turn=turn)
        except FAILURES:
            return False
        finally:
            del stack
            self.cpu_ns = time.thread_time_ns()

    def _look_now(self, *, turn: bool) -> bool:
        late = self.course.is_late()
        if self.paused or not (late or turn):
            return True
        step = self.course.steps
        stack = self._look()
        # Asked only now, as it lets go of the lock.
        if stack and not self.paused and self.course.steps == step:
            self._note(self._place(stack), 1, step, late=late, turn=turn)
        return bool(stack)

    def _is_turn(self) -> bool:
        """Whether to look at a usual step now."""
        if self.usual_samples < _FEW_USUAL:
            return True
        return self._wakes % (_USUAL_EVERY if self.usual_samples < _ENOUGH_USUAL else _USUAL_LATER) == 0

    def _note(self, place: _Place | None, looks: int, step: int, *, late: bool, turn: bool) -> None:
        # Asked in this order: by now the step may have ended.
        if late and self.course.is_long() and self.course.steps == step:
            self._decide(long=True)
            self.samples += looks
            _count(self.counts, place, looks)
            return
        if self._undecided.step != step:
            self._undecided = _Undecided(step)
        if late:
            self._undecided.late.append((place, looks))
        if turn:
            self._undecided.any_time.append((place, looks))

    def _decide(self, *, long: bool = False) -> None:
        """Count what was seen in a step that was not long yet: it has ended meanwhile, or became long."""
        seen = self._undecided
        if not long and self.course.steps == seen.step:
            return
        if long or self.course.was_long(seen.step + 1):
            self.samples += sum(looks for _, looks in seen.late)
            for place, looks in seen.late:
                _count(self.counts, place, looks)
        else:
            self.usual_samples += sum(looks for _, looks in seen.any_time)
            for place, looks in seen.any_time:
                _count(self.usual_counts, place, looks)
        self._undecided = _Undecided(-1)

    def _look(self, *, at_once: bool = False) -> list[FrameType]:
        """The thread's stack, empty once it has ended: at any time of its work, or where it lets go of the interpreter's lock."""
        if at_once:
            return _stack(sys._current_frames().get(self._thread))
        with _LOOKING:
            usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(usual_s, _SWITCH_S))
            try:
                self._looks += 1
                time.sleep(_LATER_S * (self._looks * _SPREAD % 1.0))
                return _stack(sys._current_frames().get(self._thread))
            finally:
                sys.setswitchinterval(usual_s)

    def _place(self, stack: list[FrameType], collecting: str | None = None) -> _Place | None:
        """Where a stack leaves that of an ordinary step's end; None where it shares nothing with it.

        Args:
            stack: The frames, outermost first.
            collecting: The name of the garbage collection that its innermost function waited for, if that is what it did.
        """
        shared = 0
        while shared < min(len(stack), len(self._usual)) and stack[shared].f_code is self._usual[shared]:
            shared += 1
        if not shared:
            return None
        above, below = stack[:shared], stack[shared:]
        caller = next((frame for frame in reversed(above) if is_own(frame.f_code.co_filename)), above[-1])
        named = [frame for frame in below if not _is_wrapper(frame)][:_CHAIN] or below[:1] or above[-1:]
        acts = any(map(self._environments.holds, below))
        first = () if collecting is None else ((collecting, stack[-1].f_code.co_filename),)
        return (
            first + tuple(map(_named, named)),
            caller.f_lineno or 0,
            *_named(caller),
            is_own(caller.f_code.co_filename),
            acts,
        )


def _count(counts: dict[_Place, int], place: _Place | None, looks: int) -> None:
    if place is not None and (place in counts or len(counts) < _MOST_PLACES):
        counts[place] = counts.get(place, 0) + looks


def _ranked(counts: dict[_Place, int]) -> list[dict[str, Any]]:
    """Places as rows, most looks first."""
    names = ("functions", "line", "in_function", "in_file", "own", "environment")
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return [dict(zip(names, place, strict=True)) | {"samples": count} for place, count in ranked]


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
