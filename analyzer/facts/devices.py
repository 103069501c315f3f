"""What each device does when: computing, communicating, copying, idle."""

from __future__ import annotations

import re
from functools import cached_property

import msgspec
import pandas as pd

from analyzer.facts.grouping import rows_by
from analyzer.facts.labels import distinct_texts, is_any
from analyzer.intervals import IntervalSet
from traces.trace import Trace

# Ops and ranges that exist only where tensors live on a device.
_ON_DEVICE = re.compile(r"aten::(?:cudnn_(?!is_acceptable$)|_cudnn_|miopen_|record_stream)|nccl:|rccl:")


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
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    launches = {device: len(rows) for device, rows in rows_by(launched["device"].to_numpy()).items()}
    kinds = {"compute": ("compute", "memset"), "collective": ("collective",), "copy": ("copy",)}
    masks = {name: is_any(work["kind"], *together) for name, together in kinds.items()}
    found = []
    for device, rows in rows_by(work["device"].to_numpy()).items():
        sets = {name: IntervalSet(start[rows[mask[rows]]], end[rows[mask[rows]]]) for name, mask in masks.items()}
        found.append((len(rows), DeviceActivity(device=device, launches=launches.get(device, 0), **sets)))
    found.sort(key=lambda item: (-item[1].launches, -item[0], item[1].device))
    return tuple(activity for _, activity in found)


def asks_for_device(trace: Trace) -> bool:
    """Whether the program used a device, by what the file says of itself or by ops that exist on devices only."""
    names = (*distinct_texts(trace.ops["name"]), *distinct_texts(trace.collectives["name"]))
    return trace.meta.device_kind != "cpu" or any(_ON_DEVICE.match(name) for name in names)
