"""The tracks of a Perfetto file as processes and threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Track(msgspec.Struct, frozen=True):
    """A track.

    Args:
        parent: Another track; 0 for none.
        name: Empty where it has none.
        pid: Of its process; None where it states none.
        tid: Of its thread; None for a process.
        process: Name of its process.
    """

    parent: int
    name: str
    pid: int | None
    tid: int | None
    process: str


class Tracks:
    """Tracks by their identity."""

    def __init__(self) -> None:
        self._known: dict[int, Track] = {}

    def add(self, descriptor: Any) -> Iterator[dict[str, Any]]:
        """Takes over a `perfetto.protos.TrackDescriptor`, and gives what a Chrome trace says of it."""
        process, thread = descriptor.HasField("process"), descriptor.HasField("thread")
        part = descriptor.thread if thread else descriptor.process
        found = Track(
            parent=descriptor.parent_uuid,
            name=descriptor.name or (descriptor.thread.thread_name if thread else descriptor.process.process_name),
            pid=part.pid if process or thread else None,
            tid=part.tid if thread else None,
            process=descriptor.process.process_name or (descriptor.name if process else ""),
        )
        self._known[descriptor.uuid] = found
        pid, tid = self.place(descriptor.uuid)
        if found.name:
            key = "process_name" if process else "thread_name"
            yield {"ph": "M", "name": key, "pid": pid, "tid": tid, "ts": 0, "args": {"name": found.name}}

    def place(self, identity: int) -> tuple[int | str, int]:
        """Process and thread of a track: its own, else its parent's process and itself."""
        track = self._known.get(identity)
        if track is None:
            return f"track {identity}", 0
        pid = track.pid
        above, seen = self._known.get(track.parent), {identity}
        while pid is None and above is not None and above.parent not in seen:
            pid, above = above.pid, self._known.get(above.parent)
            seen.add(above.parent if above is not None else 0)
        # A process's own track, or one with a name only.
        own = 0 if track.pid is not None else identity
        tid = own if track.tid is None else track.tid
        return (pid if pid is not None else f"track {track.parent or identity}"), tid

    def named(self, identity: int, name: str) -> bool:
        """Whether a track, or its process, has a name."""
        track = self._known.get(identity)
        above = self._known.get(track.parent) if track is not None else None
        return any(one is not None and name in (one.name, one.process) for one in (track, above))
