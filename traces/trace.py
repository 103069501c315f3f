"""A read trace: frozen frames, what the file says of itself, what it can answer, and what had to be mended."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import pandas as pd


class Capability(str, Enum):
    """Something a trace may hold that a question needs.

    The value is what a reader has to do to get it, in the words of a `cannot_tell`.
    """

    HOST_OPS = "CPU activity (activities=[ProfilerActivity.CPU, ...])"
    DEVICE = "device activity (activities=[..., ProfilerActivity.CUDA])"
    LAUNCHES = "launch calls that match their kernels (CPU and CUDA activity recorded together)"
    STEPS = "step marks (prof.step() after every iteration, or `advisor collect`)"
    SHAPES = "record_shapes=True"
    STACKS = "with_stack=True"
    MEMORY = "profile_memory=True"


class Repair(msgspec.Struct, frozen=True):
    """One kind of defect that was mended while reading.

    Args:
        kind: Kebab-case name of the defect.
        count: How often it occurred.
        first_offset: Byte of the first one in the uncompressed text, where known; of a text in UTF-16 or UTF-32, as UTF-8. Of
            damage to compressed data: byte of the file as it is stored, at or up to 64 KiB before the damage.
        message: One sentence for people.
        first_event: Number of the event it was met at, from 0, where known.
    """

    kind: str
    count: int
    first_offset: int | None
    message: str
    first_event: int | None = None


class UnknownCategory(msgspec.Struct, frozen=True):
    """Complete events of a category that the reader does not know.

    Args:
        category: As the file states it; empty where it states none.
        events: How many there are.
        as_device_work: Whether they were read as kernels, because they name a stream or a device; else they were left out.
        alone: Of those left out, how many are on threads that hold nothing else: perhaps a device's.
    """

    category: str
    events: int
    as_device_work: bool
    alone: int


class Meta(msgspec.Struct, frozen=True):
    """What the file says of itself.

    Args:
        name: File name without folders.
        sha256: Of the bytes on disk.
        size_bytes: Bytes on disk.
        events: Events in the file, of whatever kind.
        origin_ns: Time of the frames' zero on the file's own clock, nanoseconds.
        base_ns: `baseTimeNanoseconds`: added to `origin_ns` it gives wall-clock time; None where the file states none.
        device_kind: cuda, rocm, mtia, xpu, other, or cpu where nothing hints at a device.
        torch_before: The first version of torch that does not write as this file is written; None where nothing tells.
        replayed: Whether CUPTI's range profiler read counters of the device: for that it runs kernels again, and records no time.
        top: Top-level keys other than the events, decoded; untrusted, so reports copy only allow-listed parts.
    """

    name: str
    sha256: str
    size_bytes: int
    events: int
    origin_ns: int
    base_ns: int | None
    device_kind: str
    torch_before: tuple[int, int] | None = None
    replayed: bool = False
    top: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def devices(self) -> list[dict[str, Any]]:
        """`deviceProperties`, or an empty list."""
        value = self.top.get("deviceProperties")
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    @property
    def distributed(self) -> dict[str, Any]:
        """`distributedInfo`, or an empty dict."""
        value = self.top.get("distributedInfo")
        return value if isinstance(value, dict) else {}

    @property
    def rank(self) -> int | None:
        """The rank that the trace states; None where it states none, or what is no number."""
        return _number(self.distributed.get("rank"))

    @property
    def world_size(self) -> int | None:
        """Ranks of the job as the trace states them, likewise."""
        return _number(self.distributed.get("world_size"))

    @property
    def advisor(self) -> dict[str, Any]:
        """What `advisor collect` recorded beside the trace, or an empty dict."""
        value = self.top.get("advisor")
        return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    # True is an int to Python.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Trace(msgspec.Struct, frozen=True, eq=False):
    """A trace as frames, one per kind of event; columns are declared in `traces.schema`.

    Times are int64 nanoseconds from the earliest event. What an event lacks is NA. Frames must not be changed in place.
    `unfinished` is how many events of each frame had no end, and have one that was made up from their surroundings.
    Of a file that ends early, `whole_until_ns` is when the first event may begin that it lost; None where no event is.
    """

    meta: Meta
    capabilities: frozenset[Capability]
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]
    threads: pd.DataFrame
    steps: pd.DataFrame
    ops: pd.DataFrame
    annotations: pd.DataFrame
    runtime: pd.DataFrame
    kernels: pd.DataFrame
    copies: pd.DataFrame
    collectives: pd.DataFrame
    syncs: pd.DataFrame
    python: pd.DataFrame
    gc: pd.DataFrame
    memory: pd.DataFrame
    counters: pd.DataFrame
    graph_edges: pd.DataFrame
    gpu_annotations: pd.DataFrame
    overhead: pd.DataFrame
    quarantined: pd.DataFrame
    unknown_categories: tuple[UnknownCategory, ...] = ()
    whole_until_ns: int | None = None
    unfinished: dict[str, int] = msgspec.field(default_factory=dict)

    def apart(self) -> Trace:
        """The same with frames of its own, for code that may not keep to what is said of them."""
        import pandas as pd

        # From pandas 3 on a copy takes memory only where it is written to.
        deep = int(pd.__version__.partition(".")[0]) < 3
        frames = {
            name: value for name in self.__struct_fields__ if isinstance(value := getattr(self, name), pd.DataFrame)
        }
        copies = {name: frame.copy(deep=deep) for name, frame in frames.items()}
        return msgspec.structs.replace(self, **copies, unfinished=dict(self.unfinished))
