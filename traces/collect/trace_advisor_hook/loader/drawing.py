"""What the loop draws from its loaders: batches of a step and of an epoch, and which of the loaders training waits for."""

from __future__ import annotations

import contextlib
from typing import Any

from ..common import FAILURES


class Drawing:
    """Counts batches by steps and by loaders."""

    def __init__(self) -> None:
        self.loader: Any = None
        self.iterator: Any = None
        # Of the iterator in use: batches drawn, steps that ended meanwhile, and batches that were drawn before the loop was known.
        self.drawn = self.done = self.early = 0
        self.batches = 0
        self.drawn_from: dict[int, Any] = {}
        self.batches_of_steps: list[int] = []
        self.loader_steps: dict[int, tuple[Any, int]] = {}

    def draw(self, iterator: Any) -> None:
        """A loader is about to be asked for a batch."""
        if iterator is not self.iterator:
            self.iterator, self.loader = iterator, getattr(iterator, "_trace_advisor_loader", None)
            self.drawn = self.done = 0
        self.drawn += 1
        self.batches += 1
        self.drawn_from[id(self.loader)] = self.loader

    def drew_none(self) -> None:
        """There was none: the pass is over. None is counted either where this call has just ended a step."""
        self.batches = max(0, self.batches - 1)

    def begin_loop(self, *, by_loader: bool) -> None:
        """What was taken for steps was none of the loop that begins now, which draws these steps itself or does not."""
        self.early = self.drawn - 1 if by_loader else 0

    def begin_recording(self) -> None:
        """Count anew, so that the batches of a recorded step can be told."""
        self.batches_of_steps, self.loader_steps = [], {}

    def end_step(self, *, recorded: bool) -> set[int]:
        """A step is over: of which loaders it drew batches."""
        found = set(self.drawn_from)
        if recorded:
            self.batches_of_steps.append(self.batches)
            for key, loader in self.drawn_from.items():
                self.loader_steps[key] = (loader, self.loader_steps.get(key, (loader, 0))[1] + 1)
        self.batches, self.drawn_from = 0, {}
        return found

    def epoch(self, *, by_loader: bool) -> int | None:
        """Steps of an epoch, by what the loader says; None where it says nothing.

        Only the batches of the iterator in use count: what was drawn before it was another epoch, or another loop.
        """
        of_a_step = 1 if by_loader else max(1, self.drawn // max(1, self.done))
        with contextlib.suppress(*FAILURES):
            return int(len(self.loader) // of_a_step)
        return None

    def prefetched(self) -> int:
        """Batches that the loader's workers may have ready."""
        return getattr(self.loader, "num_workers", 0) * (getattr(self.loader, "prefetch_factor", 0) or 0)

    def workers(self) -> list[int]:
        """Processes of the loader in use."""
        return [worker.pid for worker in getattr(self.iterator, "_workers", ())]

    def of_steps(self) -> list[int]:
        """Batches of each recorded step; of the step that runs where none was recorded."""
        return self.batches_of_steps or [self.batches]

    def of_training(self) -> Any:
        """The loader that most recorded steps drew from: of a step with an evaluation in it the one in use last is another."""
        loader, _ = max(self.loader_steps.values(), key=lambda found: found[1], default=(self.loader, 0))
        self.loader_steps = {}
        return loader
