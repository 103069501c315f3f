"""Why a file that reads as a trace holds no event."""

from __future__ import annotations

from traces.errors import UnreadableTraceError
from traces.reader.mend.repairs import Repairs


def without_events(name: str, repairs: Repairs) -> UnreadableTraceError:
    """What to say of it: something stands in its list that is none, or nothing does.

    Args:
        name: File name.
        repairs: What was met instead.
    """
    what = f"{name} holds no events"
    met = repairs.listed()
    if not met:
        return UnreadableTraceError(
            what,
            where=name,
            why="the profiler's schedule never reached its active steps, or the export came after they were cleared",
            fix="record with schedule(wait=..., warmup=..., active=..., repeat=1) and export in on_trace_ready",
        )
    offsets = [repair.first_offset for repair in met if repair.first_offset is not None]
    return UnreadableTraceError(
        what,
        where=f"byte {min(offsets):,}" if offsets else name,
        why=f"nothing in its list could be read as one: {met[0].message}",
        fix="export it with prof.export_chrome_trace(...), or record one with `advisor collect`",
    )
