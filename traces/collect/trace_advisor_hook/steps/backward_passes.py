"""Which backward pass ends a step of the loop, where no optimizer does, or where optimizers step inside one."""

from __future__ import annotations

from types import CodeType, FrameType

_Place = tuple[CodeType, int]

# Gradients are rarely accumulated over more batches than that: without an optimizer's step, there is none that we know.
WITHOUT_OPTIMIZER = 32


class Together:
    """The optimizers that step inside the passes of one line, in hooks of their gradients, taken for one."""


class BackwardPasses:
    """Follows the backward passes of one loop: the line that first runs one leads, so that several of a step count once.

    One that only hands gradients back (`autograd.grad`), as a penalty inside a step does, leads until `backward` runs one.
    """

    def __init__(self) -> None:
        self.running = self.updated = self.ran = False
        self.of_lead = 0
        self._lead: _Place | None = None
        self._together: dict[_Place, Together] = {}

    def place(self, caller: FrameType | None, *, gradients: bool) -> _Place | None:
        """The line that has run a pass; None where nobody knows.

        Args:
            caller: The frame that ran it.
            gradients: Whether it only handed gradients back.
        """
        if not gradients and not self.ran:
            self.ran, self._lead, self.of_lead = True, None, 0
        while caller is not None and caller.f_code.co_filename.endswith("_tensor.py"):
            caller = caller.f_back
        return None if caller is None else (caller.f_code, caller.f_lineno)

    def updates(self, place: _Place) -> Together | None:
        """What stepped inside the pass of that line which is over; None where nothing did."""
        updated, self.updated = self.updated, False
        return self._together.setdefault(place, Together()) if updated else None

    def leads(self, place: _Place) -> bool:
        """Whether a pass of that line is one of those that lead."""
        self._lead = self._lead or place
        self.of_lead += place == self._lead
        return place == self._lead

    @property
    def is_alone(self) -> bool:
        """Whether so many have led that no optimizer will come."""
        return self.of_lead > WITHOUT_OPTIMIZER
