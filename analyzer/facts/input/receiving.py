"""How long the loop receives what its workers have made: each tensor of a batch is a file descriptor, or a file, to be opened.

Seen only with stacks, and only where the loop itself receives: with `pin_memory=True` a thread of the loader does.

Source: torch/multiprocessing/reductions.py, `rebuild_storage_fd`, `rebuild_storage_filename`.
"""

from __future__ import annotations

import msgspec

from analyzer.facts.input.wait import InputWait
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

_REBUILT = Pattern(r"(?:^|.*/)torch/multiprocessing/reductions\.py\(\d+\): rebuild_storage_\w+$")


class Receiving(msgspec.Struct, frozen=True):
    """Tensors of batches that the loop receives from workers inside the loader's calls.

    Args:
        time: While it does.
        tensors: How many they are, over all calls.
        ratio: Share of the loader's calls, 0..1; 0 where nothing shows.
    """

    time: IntervalSet = EMPTY
    tensors: int = 0
    ratio: float = 0.0


def receiving(trace: Trace, wait: InputWait) -> Receiving:
    """Finds frames that rebuild a tensor's memory inside the loader's calls.

    Args:
        trace: The trace.
        wait: The loader's calls.
    """
    frames = trace.python
    inside = wait.inside
    if not len(frames) or not inside:
        return Receiving()
    frames = frames[matching(frames["name"], _REBUILT.match)]
    frames = frames[inside.contains(frames["start_ns"].to_numpy())]
    time = IntervalSet.of_rows(frames)
    return Receiving(time, len(frames), time.total_ns / inside.total_ns)
