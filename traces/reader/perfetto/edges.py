"""Dependencies between nodes of CUDA graphs: a Perfetto file names the nodes that one waits for, a Chrome trace draws flows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
# As torch numbers them in a Chrome trace, clear of correlations.
_FIRST = 1 << 40


class Edges:
    """Collects a device's work that waits for other work, and the work that may be waited for."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[Any, Any, float]] = {}
        self._waits: list[tuple[int, tuple[Any, Any, float]]] = []

    def add(self, event: Any, work: Json, ended: float) -> None:
        """One piece of work.

        Args:
            event: `perfetto.protos.GpuRenderStageEvent`.
            work: The event made of it.
            ended: When it ended, in the clock of `work`.
        """
        row = (work["pid"], work["tid"])
        if "graph node id" in work["args"]:
            self._ends[event.event_id] = (*row, ended)
        self._waits += [(awaited, (*row, work["ts"])) for awaited in event.event_wait_ids]

    def flows(self) -> Iterator[Json]:
        """Both ends of each dependency whose nodes were recorded."""
        for number, (awaited, waiting) in enumerate(self._waits):
            left = self._ends.get(awaited)
            if left is not None:
                yield _end("s", _FIRST + number, left)
                yield _end("f", _FIRST + number, waiting) | {"bp": "e"}


def _end(phase: str, number: int, at: tuple[Any, Any, float]) -> Json:
    pid, tid, when = at
    return {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": when, "cat": "ac2g", "name": "ac2g"}
