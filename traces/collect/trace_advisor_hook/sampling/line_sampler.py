"""Which lines of the user's code a thread is at, sampled: in a pass of its own, from which no step time is taken.

A thread keeps the interpreter's lock for 5 ms unless it calls what lets go of it. The sampler would always find it there, never at
the Python code before; so the lock changes hands sooner while it samples. A sample counts as long as it stands for.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ..software.own_code import is_installed, is_own, qualified

INTERVAL_S = 0.002
_SWITCH_S = 5e-5
_MOST_ROWS = 60
# Takes samples on one line, and puts them together on another.
_FETCH = os.path.join("torch", "utils", "data", "_utils", "fetch.py")
# File, line, function, and the line where the function begins.
Place = tuple[str, int, str, int]


class LineSampler:
    """Samples one thread of this process until it is stopped.

    Args:
        thread: Identifier of the thread.
        marks: File and function of the frames that mean "inside the loader".
    """

    def __init__(self, thread: int, marks: frozenset[tuple[str, str]]) -> None:
        self.thread = thread
        self.marks = marks
        self.inside: Counter[Place] = Counter()
        self.outside: Counter[Place] = Counter()
        self.inside_ns = 0
        self.collate_ns = 0
        self.total_ns = 0
        self._over = threading.Event()
        self._switch_s = sys.getswitchinterval()
        self._sampling: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample."""
        sys.setswitchinterval(_SWITCH_S)
        self._sampling = threading.Thread(target=self._run, name="advisor line sampler", daemon=True)
        self._sampling.start()

    def stop(self) -> None:
        """End it; what was sampled stays."""
        self._over.set()
        if self._sampling is not None:
            self._sampling.join(timeout=1.0)
            self._sampling = None
            sys.setswitchinterval(self._switch_s)

    def _run(self) -> None:
        last = time.perf_counter_ns()
        while not self._over.wait(INTERVAL_S):
            frames = sys._current_frames()
            now = time.perf_counter_ns()
            frame = frames.pop(self.thread, None)
            if frame is not None:
                self.take(frame, now - last, frames.values())
            del frames, frame
            last = now

    def take(self, frame: types.FrameType, weight_ns: int, others: Iterable[types.FrameType] = ()) -> None:
        """Count one sample of a stack.

        Args:
            frame: The innermost frame.
            weight_ns: Time that the sample stands for, in nanoseconds.
            others: Innermost frames of the other threads: a library may make batches there while the loader waits.
        """
        place, inside = self._place(frame)
        if inside and place is None:
            place = self._of_others(frame, others)
        self.total_ns += weight_ns
        self.inside_ns += weight_ns if inside else 0
        self.collate_ns += weight_ns if inside and _collates(frame) else 0
        if place is not None:
            (self.inside if inside else self.outside)[place] += weight_ns

    def _of_others(self, waiting: types.FrameType, others: Iterable[types.FrameType]) -> Place | None:
        """The user's line in another thread that runs for the code the loader waits in, such as a data set's."""
        files = {code.co_filename for code in _codes(waiting, self.marks) if is_installed(code.co_filename)}
        for other in others:
            if any(code.co_filename in files for code in _codes(other, self.marks)):
                place, _ = self._place(other)
                if place is not None:
                    return place
        return None

    def _place(self, innermost: types.FrameType) -> tuple[Place | None, bool]:
        """The innermost line of the user's, below the loader where the stack is inside it; and whether it is."""
        place: Place | None = None
        frame: types.FrameType | None = innermost
        while frame is not None:
            code = frame.f_code
            if (code.co_filename, code.co_name) in self.marks:
                return place, True
            if place is None and is_own(code.co_filename):
                place = (code.co_filename, frame.f_lineno, qualified(code), code.co_firstlineno)
            frame = frame.f_back
        return place, False

    def told(self) -> dict[str, Any]:
        """What was sampled: nanoseconds in all, inside the loader, in its collate function, and of each line."""
        return {
            "total_ns": self.total_ns,
            "loader_ns": self.inside_ns,
            "collate_ns": self.collate_ns,
            "rows": [
                {"loader": inside, "file": file, "line": line, "function": function, "begins": begins, "ns": ns}
                for inside, counts in ((True, self.inside), (False, self.outside))
                for (file, line, function, begins), ns in counts.most_common(_MOST_ROWS)
            ],
        }


def _collates(innermost: types.FrameType) -> bool:
    """Whether torch's loader, in which a stack is, puts samples together just now."""
    frame: types.FrameType | None = innermost
    while frame is not None:
        if frame.f_code.co_name == "fetch" and frame.f_code.co_filename.endswith(_FETCH):
            return _is_collate_line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=64)
def _is_collate_line(file: str, line: int) -> bool:
    return "collate_fn(" in linecache.getline(file, line)


def _codes(innermost: types.FrameType, marks: frozenset[tuple[str, str]]) -> Iterator[types.CodeType]:
    """What a stack runs, innermost first, up to the loader."""
    frame: types.FrameType | None = innermost
    while frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) not in marks:
        yield frame.f_code
        frame = frame.f_back
