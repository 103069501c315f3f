"""What each device does when: computing, communicating, copying, idle."""

from __future__ import annotations

import re

import msgspec
import pandas as pd

from analyzer.intervals import IntervalSet
from traces.trace import Trace

# Ops and ranges that exist only where tensors live on a device.
_ON_DEVICE = re.compile(r"aten::(?:cudnn_|_cudnn_|miopen_|record_stream)|nccl:|rccl:")


class DeviceActivity(msgspec.Struct, frozen=True):
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

    @property
    def busy(self) -> IntervalSet:
        """Anything runs."""
        return self.compute | self.collective | self.copy


def device_activities(work: pd.DataFrame, launched: pd.DataFrame) -> tuple[DeviceActivity, ...]:
    """One entry per device with work, the one with the most launches first (then the most work, then the lowest number).

    Args:
        work: From `launches.device_work`.
        launched: From `launches.launches`.
    """
    per_device = launched["device"].value_counts()
    found = []
    for device in sorted(set(work["device"].to_numpy().tolist())):
        rows = work[work["device"] == device]
        kinds = {kind: part for kind, part in rows.groupby("kind", sort=False)}
        sets = {
            kind: IntervalSet(part["start_ns"].to_numpy(), part["end_ns"].to_numpy()) for kind, part in kinds.items()
        }
        none = IntervalSet()
        found.append(
            (
                len(rows),
                DeviceActivity(
                    device=device,
                    compute=sets.get("compute", none) | sets.get("memset", none),
                    collective=sets.get("collective", none),
                    copy=sets.get("copy", none),
                    launches=int(per_device.get(device, 0)),
                ),
            )
        )
    found.sort(key=lambda item: (-item[1].launches, -item[0], item[1].device))
    return tuple(activity for _, activity in found)


def asks_for_device(trace: Trace) -> bool:
    """Whether the program used a device, by what the file says of itself or by ops that exist on devices only."""
    names = (*trace.ops["name"].cat.categories, *trace.collectives["name"].cat.categories)
    return trace.meta.device_kind != "cpu" or any(_ON_DEVICE.match(str(name)) for name in names)
