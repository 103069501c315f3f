"""How many steps a recording holds where nobody asked for a number, and how many are timed after it.

`advisor compare` wants twenty steps a side, one or two of a recording are left out as warm-up: short steps are recorded that often.
Long ones hold many events each; there a few must do, or the file gets large.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_STEPS = 6
MOST_STEPS = 24
# 40 ms a step: the reference loop makes 1 MB of trace in 10 ms, most loops far less.
LONG_NS = 1_000_000_000
UNPROFILED_STEPS = 20


@dataclass(frozen=True)
class Window:
    """From when on a recording has enough steps.

    Args:
        least: Steps it needs in any case.
        most: Steps after which it ends.
    """

    least: int
    most: int

    def settings(self) -> dict[str, int]:
        """The same for the phases of a recording, with how long the least steps must take for no more to be recorded."""
        return {"least": self.least, "most": self.most, "long_ns": LONG_NS}


def window_of(active: int | None) -> Window:
    """As many steps as asked for; where None is, as many as are short."""
    return Window(LEAST_STEPS, MOST_STEPS) if active is None else Window(active, active)
