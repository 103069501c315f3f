"""From the first steps of a loop to the marks in the recorded ones: when modules are looked at, and what is told of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from ..common import FAILURES
from ..marks.known_marks import OfModule
from ..marks.module_marks import compiles
from ..marks.ranges import can_mark
from ..marks.scope import range_name
from .follow import Follow, Repeat

# Looked at are the step that begins where the first ends, and two more; loops that are recorded sooner are left alone.
_FIRST, _STEPS = 1, 3
# What comparing a call's arguments takes, at most (2 cores, torch 2.15), and how much of a step all may take.
_CALL_NS, _CHEAP_RATIO = 20_000, 0.02


class Again:
    """Looks at early steps of a loop, and marks in the recorded ones what they computed again.

    Args:
        busy: Whether a backward pass runs.
        trained: Identities of the tensors that optimizers update.
    """

    def __init__(self, busy: Callable[[], bool], trained: Callable[[], set[int]]) -> None:
        self.busy, self.trained = busy, trained
        self.follow: Follow | None = None
        # What was found, and what of it costs little enough to mark.
        self.found: list[Repeat] | None = None
        self.cheap: list[Repeat] = []
        # Of the steps that are looked at; when the first one began nobody knows.
        self.took_ns: list[int] = []

    def after_skipped(self, number: int, duration_ns: int, *, skipping: int, steps_train: bool) -> None:
        """A step that is not recorded is over.

        Args:
            number: How many there were of this loop.
            duration_ns: How long it took.
            skipping: How many will be skipped.
            steps_train: Whether steps are those of an optimizer, or of backward passes.
        """
        with contextlib.suppress(*FAILURES):
            if number == _FIRST:
                self.end_look()
                self.found, self.cheap, self.took_ns = None, [], []
                if skipping > _FIRST + _STEPS and _able():
                    self.follow = Follow(self.busy, self.trained, steps_train=steps_train)
                    self.follow.start()
                return
            self.took_ns.append(duration_ns)
            if self.follow is not None:
                self.follow.next_step()
                if number == _FIRST + _STEPS:
                    if not self.follow.calls.too_many:
                        self.found = self.follow.found()
                        self.cheap = self._cheap(self.found)
                    self.end_look()

    def end_look(self) -> None:
        """Look at no more calls."""
        if self.follow is not None:
            self.follow.stop()
            self.follow = None

    def _cheap(self, found: list[Repeat]) -> list[Repeat]:
        """What can be marked without making the step much longer, those of few calls first."""
        left_ns, kept = _CHEAP_RATIO * min(self.took_ns), []
        for one in sorted(found, key=lambda repeat: repeat.calls):
            left_ns -= one.calls * _CALL_NS
            if left_ns >= 0:
                kept.append(one)
        return kept

    def after_batch(self, batch: Any) -> None:
        """A loader has handed over a batch."""
        if self.follow is not None:
            self.follow.after_batch(batch)

    def marks(self) -> list[OfModule]:
        """Marks on the calls of what was found, from now on."""
        self.end_look()
        if not _able():
            self.cheap = []
        return hold(self.cheap, self.busy)

    def told(self) -> list[dict[str, Any]] | None:
        """What was found, which may be nothing; None where nobody looked."""
        return None if self.found is None else [_row(one, marked=one in self.cheap) for one in self.found]


def hold(found: list[Repeat], busy: Callable[[], bool]) -> list[OfModule]:
    """Mark the calls of all modules of these from now on."""
    names: dict[int, dict[str, str]] = {}
    for one in found:
        names.setdefault(id(one.module), {})[one.scope] = range_name(one.scope, one.label)
    held = []
    for key, module in {id(one.module): one.module for one in found}.items():
        watched = OfModule(names[key], busy)
        with contextlib.suppress(*FAILURES):
            watched.hold(module)
            held.append(watched)
    return held


def _able() -> bool:
    """Whether modules can be looked at and their calls marked (torch 2.1), without being compiled anew."""
    return can_mark() and hasattr(sys.modules["torch"].Tensor, "untyped_storage") and not compiles()


def _row(one: Repeat, *, marked: bool) -> dict[str, Any]:
    file, line, function = one.line or (None, None, None)
    return {
        "module": one.label, "scope": one.scope, "calls": one.calls, "result_bytes": one.result_bytes,
        "forward_only": one.forward_only, "marked": marked, "file": file, "line": line, "function": function,
    }  # fmt: skip
