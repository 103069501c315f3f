"""What each device does when: computing, communicating, copying, idle."""

from __future__ import annotations

from functools import cached_property

import msgspec
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import distinct_texts, is_any
from traces.patterns import Pattern
from traces.trace import Trace

# Ops and ranges that exist only where tensors live on a device: NVIDIA's and AMD's, ...
_ON_GPU = Pattern(
    r"aten::(?:cudnn_(?!is_acceptable$)|_cudnn_|miopen_|record_stream|_thnn_fused_|_pin_memory$|_(?:flash|efficient)_attention_"
    r"|_scaled_dot_product_(?:efficient|cudnn|flash)_attention(?!_for_cpu))|nccl:|rccl:"
)
# ... and those of others, whose work torch.profiler records with the maker's extension, or not at all (Apple's).
_ELSEWHERE = Pattern(
    r"aten::(?:_?mps_|_?lstm_mps|\w+_for_mps\b|_copy_from(?:_and_resize)?$|linear_backward$)"
    r"|(?:torch_)?(?:npu|hpu|xla|mlu|musa|gcu|neuron)::"
)
# `c10::DeviceType` of memory: the host's, NVIDIA's and AMD's; no memory at all (meta).
_HOST_MEMORY, _GPU_MEMORY, _META_MEMORY = 0, (1, 6), 14


class DeviceActivity(msgspec.Struct, frozen=True, dict=True):
    """Busy time of one device over the whole trace, as unions over its streams (overlapping kernels count once).

    Args:
        device: Device number.
        compute: A kernel other than a collective, or a memset, runs.
        collective: A collective runs.
        copy: A copy runs.
        launches: Pieces of work with a known launch.
    """

    device: int
    compute: IntervalSet
    collective: IntervalSet
    copy: IntervalSet
    launches: int

    @cached_property
    def busy(self) -> IntervalSet:
        """Anything runs."""
        return self.compute | self.collective | self.copy


def device_activities(work: pd.DataFrame, launched: pd.DataFrame) -> tuple[DeviceActivity, ...]:
    """One entry per device with work, the one with the most launches first (then the most work, then the lowest number).

    Args:
        work: From `launches.device_work`.
        launched: From `launches.launches`.
    """
    devices, start, end = (work[name].to_numpy() for name in ("device", "start_ns", "end_ns"))
    launches = {device: len(rows) for device, rows in rows_by(launched["device"].to_numpy()).items()}
    kinds = {"compute": ("compute", "memset"), "collective": ("collective",), "copy": ("copy",)}
    spans = {name: _per_device(devices, start, end, is_any(work["kind"], *kind)) for name, kind in kinds.items()}
    found = []
    for device, rows in rows_by(devices).items():
        sets = {name: of_device.get(device, EMPTY) for name, of_device in spans.items()}
        found.append((len(rows), DeviceActivity(device=device, launches=launches.get(device, 0), **sets)))
    found.sort(key=lambda item: (-item[1].launches, -item[0], item[1].device))
    return tuple(activity for _, activity in found)


def _per_device(devices: Int64Array, start: Int64Array, end: Int64Array, chosen: BoolArray) -> dict[int, IntervalSet]:
    """When the chosen work of each device runs; devices without any are left out."""
    devices, start, end = devices[chosen], start[chosen], end[chosen]
    return {device: IntervalSet(start[rows], end[rows]) for device, rows in rows_by(devices).items()}


def asks_for_device(trace: Trace) -> bool:
    """Whether the program used a device, by what the file says of itself, by ops that exist on devices only, or by its memory."""
    return (
        trace.meta.device_kind != "cpu"
        or _has_op(trace, _ON_GPU)
        or _has_memory(trace, *_GPU_MEMORY)
        or is_elsewhere(trace)
    )


def is_elsewhere(trace: Trace) -> bool:
    """Whether ops or memory are those of a device that is neither NVIDIA's nor AMD's."""
    others = set(trace.memory["device_type"].dropna().unique()) - {_HOST_MEMORY, _META_MEMORY, *_GPU_MEMORY}
    return bool(others) or _has_op(trace, _ELSEWHERE)


def _has_memory(trace: Trace, *device_types: int) -> bool:
    return bool(trace.memory["device_type"].isin(device_types).any())


def _has_op(trace: Trace, pattern: Pattern[str]) -> bool:
    names = (*distinct_texts(trace.ops["name"]), *distinct_texts(trace.collectives["name"]))
    return any(map(pattern.match, names))
