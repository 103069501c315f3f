"""What is mutated: the world of every rule, with its fault and without, in the dialects of several versions and vendors."""

from __future__ import annotations

import json
from collections.abc import Iterator

from building.dialects import torch_1_8, torch_1_9
from known.scenarios import OF_RANKS, SCENARIOS, world

# Small ones are explained in a tenth of a second, and hold the same kinds of events.
_MOST_BYTES = 60_000


def seeds() -> tuple[bytes, ...]:
    """The files, the same ones in the same order on every run."""
    return tuple(text for text in _texts() if len(text) <= _MOST_BYTES)


def _texts() -> Iterator[bytes]:
    for code in sorted(SCENARIOS.keys() - OF_RANKS):
        for fires in (True, False):
            yield json.dumps(world(code, fires=fires).document()).encode()
        for dialect in (torch_1_8, torch_1_9):
            yield json.dumps(dialect(world(code)).document()).encode()
