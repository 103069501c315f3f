"""Collectives: when they run, what of it nothing hides, how many there are and how large."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.communication.between_layers import FEW_BYTES, between_layers
from analyzer.facts.communication.call_kinds import kinds_of_calls
from analyzer.facts.communication.kernel_kinds import kind_of_kernel
from analyzer.facts.communication.of_groups import OfGroup, between_layers_by_groups, mostly_of_sequences, of_groups
from analyzer.facts.communication.reducing_library import reducing_library
from analyzer.facts.communication.sizes import narrow, sent, wide_sums
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import chosen, columns_at
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts, matching
from traces.fixed_frame import FixedFrame
from traces.patterns import Pattern
from traces.trace import Trace

# Ranges by which one collective is counted, the most direct that the trace has: each collective leaves up to one of every kind.
_COUNTED = (
    Pattern(r"(?:nccl|gloo|mpi|ucc|xccl|hccl|rccl):"),
    Pattern(r"record_param_comms"),
    Pattern(r"c10d::"),
)
_FSDP = Pattern(r"FullyShardedDataParallel|FSDP::")
# `fully_shard` (FSDP2) has ranges of its own.
_FSDP2 = Pattern(r"FSDP::")
_DATA_PARALLEL = Pattern(r"DistributedDataParallel\.forward|torch\.distributed\.ddp")
_ON_HOST = Pattern(r"(?:gloo|mpi):")
# Part of the exposed time from which collectives between layers decide what helps: those of the backward pass come on top.
_ACTIVATIONS_RATIO = 0.2
# What is asked of the ranges, of which a frame has twice as many columns.
_ASKED = ("name", "thread", "start_ns", "end_ns", "input_dims", "input_types", "message_type", "message_elements")
# What `kind_of_kernel` calls a collective whose name does not say what it does.
_UNTOLD = "collective"
# Of fewer calls' sizes the median says little.
_KNOWN_RATIO = 0.5
# Of each shard that is scattered a sum over replicas, but for some that are summed later together.
_EACH_SHARD = 2
# A message between two ranks.
_PAIR = Pattern(r"(?:i?send|i?recv|send_recv)\b")


class Sizes(msgspec.Struct, frozen=True):
    """How many calls there are, and the median of their bytes; None where too few sizes are stated to tell it.

    `largest_bytes` is the largest, and `bytes` all that are known.
    """

    calls: int
    median_bytes: float | None
    largest_bytes: float
    bytes: float


class Collectives(msgspec.Struct, frozen=True):
    """The collectives of the used steps.

    Args:
        running: When a collective runs on the device (on a CPU-only trace: inside a collective's range on any thread).
        exposed: The part of it that owns the step's time: nothing else runs beside it (cause `communication`).
        calls: One row per collective by its host range: kind (`all_reduce`, ...), start_ns, end_ns, size_bytes (float64, NaN where
            shapes were not recorded).
        kernels: Number of collective kernels on the device.
        kernel_names: Their names, each once.
        data_parallel: Whether a DistributedDataParallel module is used.
        library: The library whose frames show and that reduces gradients in its own way: `deepspeed`, `horovod`; None where
            neither shows, as without stacks.
        sharded: Whether parameters are gathered and gradients scattered (FSDP, ZeRO).
        fsdp: Whether FSDP's own ranges are in the trace: else another library shards.
        fsdp1: Whether these are of the module `FullyShardedDataParallel` (FSDP1), and none of `fully_shard` (FSDP2).
        activations: Whether a good part of the exposed time is reductions between layers of the forward pass (tensor parallelism);
            where the groups of most of it say what they are for, whether those of tensor parallelism have more than others.
        gathered_ns: Exposed time in gathering between those layers, where neither parameters are sharded nor DDP is used.
        narrow: Whether most of the bytes that are sent are of tensors of 16 bits an element, or fewer, already.
        wide_sums: Whether gathers send such tensors, and sums wider ones (FSDP's `reduce_dtype`).
        exposed_ns: Exposed time by kind of collective, the largest first: by the host's ranges, else by the kernels' names.
        groups: The process groups that it is in, as far as kernels state them, the largest first.
    """

    running: IntervalSet
    exposed: IntervalSet
    calls: pd.DataFrame
    kernels: int
    kernel_names: tuple[str, ...]
    data_parallel: bool
    library: str | None
    sharded: bool
    fsdp: bool
    fsdp1: bool
    activations: bool
    gathered_ns: int
    narrow: bool
    wide_sums: bool
    exposed_ns: dict[str, int]
    groups: tuple[OfGroup, ...] = ()

    @property
    def main_kind(self) -> str | None:
        """The kind with the most exposed time; None where it is unknown."""
        return next(iter(self.exposed_ns), None)

    @property
    def known_sizes_ratio(self) -> float:
        """Share of the calls whose size the trace states; 0 without any."""
        return float(self.calls["size_bytes"].notna().mean()) if len(self.calls) else 0.0

    @property
    def sizes_known(self) -> bool:
        """Whether enough sizes are stated to tell what is usual."""
        return self.known_sizes_ratio >= _KNOWN_RATIO

    @property
    def median_bytes(self) -> float:
        """Size of the median call of known size; NaN where none is known."""
        return float(self.calls["size_bytes"].median())

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of collective that are called, sorted."""
        return tuple(sorted(set(self.calls["kind"])))

    def smaller_than(self, size_bytes: float) -> tuple[pd.DataFrame, int]:
        """The calls of fewer bytes, and how many those have together."""
        small = self.calls[(self.calls["size_bytes"] < size_bytes).to_numpy()]
        return small, int(small["size_bytes"].sum())

    def sizes_of(self, kind: str) -> tuple[int, float | None]:
        """Calls of one kind, and the median of their bytes; None where none is known."""
        sizes = self.calls["size_bytes"].to_numpy()[self.calls["kind"].to_numpy() == kind]
        known = sizes[~np.isnan(sizes)]
        return len(sizes), float(np.median(known)) if len(known) else None

    @property
    def bucket_sizes(self) -> Sizes:
        """What is reduced, a few numbers aside: those are no bucket of gradients."""
        reduces = np.array(["reduce" in kind for kind in self.calls["kind"]], dtype=np.bool_)
        sizes = self.calls["size_bytes"].to_numpy()[reduces]
        sizes = sizes[~(sizes <= FEW_BYTES)]
        known = sizes[~np.isnan(sizes)]
        median = float(np.median(known)) if self.sizes_known and len(known) else None
        return Sizes(len(sizes), median, float(known.max(initial=0.0)), float(known.sum()))

    @property
    def messages(self) -> bool:
        """Whether most of the exposed time is in messages between two ranks."""
        return 2 * sum(ns for kind, ns in self.exposed_ns.items() if _PAIR.match(kind)) > sum(self.exposed_ns.values())

    @property
    def of_sequences(self) -> bool:
        """Whether most of it is in groups that share sequences, by their words."""
        return mostly_of_sequences(self.groups)

    @property
    def replicas_of_shards(self) -> bool:
        """Whether FSDP scatters gradients and sums each shard over replicas, and most of the exposed time is in these sums (HSDP).

        A sum of few numbers, as of a loss, is none of a shard.
        """
        if not self.fsdp or _kind_of_words(self.main_kind or "") != "allreduce":
            return False
        kinds = np.array([_kind_of_words(kind) for kind in self.calls["kind"]], dtype=np.object_)
        sums = (kinds == "allreduce") & ~(self.calls["size_bytes"].to_numpy() <= FEW_BYTES)
        scatters = np.array(["reducescatter" in kind for kind in kinds], dtype=np.bool_)
        return bool(0 < scatters.sum() <= _EACH_SHARD * sums.sum())

    @property
    def may_be_gradients(self) -> bool:
        """Whether most of the exposed time may be sums of gradients: reductions of all ranks, or of a kind that no name tells."""
        kind = self.main_kind
        return kind is None or kind == _UNTOLD or ("reduce" in kind and "scatter" not in kind)

    @property
    def hidden_ratio(self) -> float:
        """Share of the collectives' time that compute runs beside; 1 where there is none."""
        return 1 - self.exposed.total_ns / self.running.total_ns if self.running else 1.0


def collectives(
    trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts, kernels: KernelFacts
) -> Collectives:
    """Measures the collectives; all empty in a run of one process."""
    window, every = steps.window, trace.collectives
    ranges = columns_at(every, steps.host_window.contains(every["start_ns"].to_numpy()), _ASKED)
    counted = (matching(ranges["name"], counted.match) for counted in _COUNTED)
    rows = chosen(ranges, next((mask for mask in counted if mask.any()), np.ones(len(ranges), dtype=np.bool_)))
    sends = sent(rows, ranges)
    calls = FixedFrame(
        {
            "kind": kinds_of_calls(trace, rows),
            "start_ns": rows["start_ns"].to_numpy(),
            "end_ns": rows["end_ns"].to_numpy(),
            "size_bytes": sends.size_bytes,
        }
    )
    # What waits on the host for a collective of which no range is left is in one all the same.
    on_host = host.threads.anywhere("collectives") | host.among_ranks
    running = (device.main.collective if device.main else on_host) & window
    kinds = sorted(set(calls["kind"]))
    fsdp, data_parallel = _has_range(trace, _FSDP), _has_range(trace, _DATA_PARALLEL)
    sharded = fsdp or (any("reduce_scatter" in kind for kind in kinds) and any("gather" in kind for kind in kinds))
    exposed = time.waterfall.owned("communication")
    # What a library does on the host launches no kernel, whatever is launched meanwhile.
    launching = ~matching(rows["name"], _ON_HOST.match) | (device.main is None)

    def spans_of(rows: BoolArray) -> IntervalSet:
        return call_spans(device, steps, kernels, IntervalSet.of_rows(calls, rows))

    stated = np.where(launching, calls["kind"].to_numpy(), "")
    by_kind = {kind: (exposed & spans_of(stated == kind)).total_ns for kind in kinds}
    for kind, spans in _unranged(device, steps, kernels, IntervalSet.of_rows(calls, launching)).items():
        by_kind[kind] = by_kind.get(kind, 0) + (exposed & spans).total_ns
    between = between_layers(trace, calls, gathers=not (sharded or data_parallel))
    frame = kernels.named.frame
    groups = () if device.main is None else of_groups(trace, frame, exposed)
    layered = (exposed & spans_of(between)) - IntervalSet.union(one.exposed for one in groups if one.kind == "dp")
    between_ratio = layered.total_ns / max(exposed.total_ns, 1)
    split = between_layers_by_groups(groups, exposed)
    gathers = between & np.array(["gather" in kind for kind in calls["kind"]], dtype=np.bool_)
    named = frame["name"][frame["collective"].to_numpy() & (device.main is not None)]
    return Collectives(
        running=running,
        exposed=exposed,
        activations=bool(layered) and between_ratio >= _ACTIVATIONS_RATIO if split is None else split,
        gathered_ns=(exposed & spans_of(gathers)).total_ns,
        narrow=narrow(sends, ranges),
        wide_sums=wide_sums(calls["kind"], sends),
        exposed_ns={kind: ns for kind, ns in sorted(by_kind.items(), key=lambda item: -item[1]) if ns},
        calls=calls,
        kernels=len(named),
        kernel_names=tuple(sorted(map(str, named.unique()))),
        data_parallel=data_parallel,
        library=reducing_library(trace),
        fsdp=fsdp,
        fsdp1=fsdp and not _has_range(trace, _FSDP2),
        sharded=sharded,
        groups=groups,
    )


def call_spans(device: DeviceFacts, steps: Steps, kernels: KernelFacts, calls: IntervalSet) -> IntervalSet:
    """When the device runs the collectives launched inside the given calls; on a CPU-only trace the calls themselves."""
    if device.main is None:
        return calls
    mine, inside = _launched_inside(kernels, calls)
    return IntervalSet.of_rows(kernels.named.frame, mine[inside]) & steps.window


def _launched_inside(kernels: KernelFacts, calls: IntervalSet) -> tuple[Int64Array, BoolArray]:
    """The rows of the kernels that communicate, and which of them were launched inside one of the calls."""
    frame = kernels.named.frame
    mine = np.flatnonzero(frame["collective"].to_numpy())
    launched = np.nan_to_num(frame["launch_start_ns"].to_numpy()[mine], nan=-1).astype(np.int64)
    return mine, calls.contains(launched)


def _unranged(device: DeviceFacts, steps: Steps, kernels: KernelFacts, calls: IntervalSet) -> dict[str, IntervalSet]:
    """When the device runs collectives that no range on the host names, by kind as their kernels' names say it."""
    if device.main is None:
        return {}
    mine, inside = _launched_inside(kernels, calls)
    mine = mine[~inside]
    if not len(mine):
        return {}
    frame = kernels.named.frame
    names = frame["name"].to_numpy()[mine]
    said = {name: kind_of_kernel(str(name)) for name in set(names.tolist())}
    kinds = np.array([said[name] for name in names.tolist()], dtype=object)
    return {
        kind: IntervalSet.of_rows(frame, mine[kinds == kind]) & steps.window for kind in sorted(set(kinds.tolist()))
    }


def _kind_of_words(kind: str) -> str:
    """A kind however its library writes it: `allreduce_`, `all_reduce`."""
    return kind.replace("_", "").removesuffix("base")


def _has_range(trace: Trace, wanted: Pattern[str]) -> bool:
    return any(wanted.match(name) for frame in (trace.annotations, trace.ops) for name in distinct_texts(frame["name"]))


def calls_of_library(trace: Trace, library: str) -> IntervalSet:
    """When collectives of a library, `gloo` or `nccl`, are called on the host, on any thread."""
    ranges = trace.collectives
    return IntervalSet.of_rows(ranges, matching(ranges["name"], lambda name: name.startswith(f"{library}:")))
