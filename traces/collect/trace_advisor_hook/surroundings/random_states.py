"""Where the generators of random numbers stand that are everybody's: two looks tell whether any were drawn in between."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Any

from ..common import FAILURES


def random_states() -> tuple[Any, ...]:
    """What the generators of Python, NumPy and torch hold, and that of a device in use; the program's own are not seen."""
    found: list[Any] = [random.getstate()]
    with contextlib.suppress(*FAILURES):
        numpy: Any = sys.modules["numpy"].random
        name, keys, *rest = numpy.get_state()
        found.append((name, keys.tobytes(), *rest))
    torch: Any = sys.modules.get("torch")
    with contextlib.suppress(*FAILURES):
        found.append(torch.random.get_rng_state().numpy().tobytes())
    with contextlib.suppress(*FAILURES):
        if torch.cuda.is_initialized():
            found.append(torch.cuda.get_rng_state().numpy().tobytes())
    return tuple(found)
