"""How much longer single ops of a rank without a device take than the same ones in other steps: as a rule they lack a core.

Only `advisor collect` asks the system for how long a thread had no core. A trace of `torch.profiler` shows it all the same: a
thread that has to leave its core does so for milliseconds, in whatever op it is at. More work, and slower cores, make all longer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.steps.find import Steps
from analyzer.facts.time.more_work import more_work

# What the scheduler gives to another thread before it takes the core back: 0.75 ms and more (Linux, `base_slice_ns`).
_SLICE_NS = 1_000_000
# Of two steps nobody knows in which of them an op took longer than it should.
_FEWEST_STEPS = 3


def interrupted_ns(ops: pd.DataFrame, steps: Steps) -> int | None:
    """What single ops take longer than the same ones of most steps by a slice of the scheduler or more, all used steps together.

    None with too few steps to say what is usual.

    Args:
        ops: Name, shape, start_ns and dur_ns of the ops of the used steps; those of one name and shape are told apart by their
            place among these in their step.
        steps: The steps.
    """
    step = steps.of_host(ops["start_ns"].to_numpy())
    inside = ops[step >= 0].assign(step=step[step >= 0])
    if steps.count < _FEWEST_STEPS or not len(inside):
        return None
    ordered = inside.sort_values("start_ns", kind="stable")
    place = ordered.groupby(["step", "name", "shape"], sort=False).cumcount().to_numpy()
    same = ordered.assign(place=place).groupby(["name", "shape", "place"], sort=False)["dur_ns"]
    known = (same.transform("size") >= _FEWEST_STEPS).to_numpy(dtype=bool)
    took, usual = ordered["dur_ns"].to_numpy()[known], same.transform("median").to_numpy(dtype=np.float64)[known]
    expected = usual * more_work(ordered["step"].to_numpy()[known], took, usual, steps.count)
    beyond = took - expected
    return int(beyond[beyond >= _SLICE_NS].sum())
