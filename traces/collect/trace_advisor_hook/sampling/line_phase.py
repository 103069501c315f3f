"""The pass in which lines are sampled: after all times are taken, with the profiler off."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import types
from typing import Any

from ..software.own_code import is_own, qualified
from .line_sampler import INTERVAL_S, LineSampler, Place
from .worker_lines import request

# A thousand samples tell a line's share to three points (binomial), and no step is so long that it needs ten seconds.
_ENOUGH_S, _LEAST_STEPS, _LONGEST_S = 2.0, 3, 10.0
# Workers look every tenth of a second whether they are to stop, then write.
_WORKERS_S = 0.5


class LinePass:
    """Samples the training thread and the loader's workers over some steps.

    Args:
        folder: Where workers find what they are asked for.
    """

    def __init__(self, folder: str) -> None:
        self.asked = request(folder, os.getpid())
        loader: Any = sys.modules["torch.utils.data.dataloader"]
        self.sampler = LineSampler(threading.get_ident(), frozenset({(loader.__file__, "__next__")}))
        self.steps: list[int] = []
        self.step_ends: set[tuple[str, int]] = set()
        self.step_line: Place | None = None
        self.began = time.monotonic()
        self.ended: float | None = None
        with contextlib.suppress(OSError), open(self.asked, "w", encoding="utf-8"):
            pass
        self.sampler.start()

    def over(self, duration: int) -> bool:
        """Whether all is sampled and written.

        Args:
            duration: How long the step took that ends now, in nanoseconds.
        """
        now = time.monotonic()
        if self.ended is None:
            self.steps.append(duration)
            if len(self.steps) <= _LEAST_STEPS:
                own = _own_frames(sys._getframe(1))
                self.step_ends |= {(place[0], place[1]) for place in own}
                self.step_line = own[0] if own else None
            spent = now - self.began
            if (spent >= _ENOUGH_S and len(self.steps) >= _LEAST_STEPS) or spent >= _LONGEST_S:
                self.end()
            return False
        return now - self.ended >= _WORKERS_S

    def end(self) -> None:
        """Sample no longer."""
        if self.ended is None:
            self.sampler.stop()
            with contextlib.suppress(OSError):
                os.remove(self.asked)
            self.ended = time.monotonic()

    def told(self) -> dict[str, Any]:
        """What was sampled in this process, how long a step took meanwhile, and the user's lines that run where a step ends."""
        steps = sorted(self.steps)
        return self.sampler.told() | {
            "interval_ns": round(INTERVAL_S * 1e9),
            "steps": len(steps),
            "step_ns": steps[len(steps) // 2] if steps else None,
            "step_ends": sorted(self.step_ends),
            "step_line": self.step_line,
        }


def _own_frames(innermost: types.FrameType | None) -> list[Place]:
    """The user's frames on a stack, innermost first: loops around their lines turn once a step, or less often."""
    found: list[Place] = []
    frame = innermost
    while frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            found.append((code.co_filename, frame.f_lineno, qualified(code), code.co_firstlineno))
        frame = frame.f_back
    return found
