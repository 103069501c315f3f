"""Device work that was launched before the first step: a host that runs ahead leaves a queue to the step after.

Where the recording begins in the middle of training, as a schedule makes it, the step before the first one is not in the trace, but
what it launched is: it would be taken for the first step's own, which then seems to last twice as long as the others. Only where
the device goes on from one to the other at once: where it waits for the host between them, the first step lasts as long as the
host takes.

What was launched before the recording began may not be in it at all. Then the device seems idle while what is launched waits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import numbered

# What no time is less, or more, than.
_FIRST_NS, _LAST_NS = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# What was queued runs when the recording begins, and what is queued behind it follows within microseconds. A device that is idle
# when the recording begins has nothing left to do, and kernels without a launch that come later have lost theirs.
_AT_ONCE_NS = 100_000
# Where work waits half as long as the first one later, too, the first wait is like the others, and no sign of a backlog.
_HABIT_PART = 0.5


def left_over(work: pd.DataFrame, launched: pd.DataFrame, since_ns: int) -> npt.NDArray[np.bool_]:
    """Which device work the steps before launched, shape (work,): what ran before any work of a device's own.

    Args:
        work: From `launches.device_work`.
        launched: From `launches.launches`.
        since_ns: When the first step begins on the host.
    """
    own = np.zeros(len(work), dtype=bool)
    own[launched.index.to_numpy()[launched["launch_start_ns"].to_numpy() >= since_ns]] = True
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    # All devices at once: one after another each would look through the work of all.
    device, devices = numbered(work["device"].to_numpy())
    first = _extreme_by(np.minimum, device[own], start[own], devices, _LAST_NS)
    before = start < first[device]
    begins = _extreme_by(np.minimum, device[before], start[before], devices, _LAST_NS)
    ended = _extreme_by(np.maximum, device[before], end[before], devices, _FIRST_NS)
    at_once = (begins <= since_ns + _AT_ONCE_NS) & (first <= ended + _AT_ONCE_NS)
    found: npt.NDArray[np.bool_] = before & at_once[device]
    return found


def _extreme_by(of: np.ufunc, device: Int64Array, time_ns: Int64Array, devices: int, neutral_ns: int) -> Int64Array:
    """The least or greatest time of each device, shape (devices,)."""
    found = np.full(devices, neutral_ns)
    of.at(found, device, time_ns)
    return found


def backlog_end_ns(launched: pd.DataFrame, work: pd.DataFrame, since_ns: int) -> int | None:
    """When the device has worked off what was launched before the recording, and is not in it; None where it need not have.

    The first work of all waits although the device does nothing, for longer than what a queue lets pass between two of its own, for
    longer than the host took to launch it, and for longer than work waits later on, when nothing is out of sight: the device is at
    something else. Until then it is no step's.

    Args:
        launched: From `launches.launches`.
        work: From `launches.device_work`.
        since_ns: When the first step begins on the host.
    """
    # One launch alone may wait for anything: only others show that work need not.
    if len(launched) < 2 or launched.index[0] != 0:
        return None
    start, returned = int(work["start_ns"].iloc[0]), int(launched["launch_end_ns"].iloc[0])
    if int(launched["launch_start_ns"].iloc[0]) < since_ns:
        return None
    waited = start - returned
    if waited <= max(_AT_ONCE_NS, returned - since_ns):
        return None
    idle_since = np.maximum.accumulate(work["end_ns"].to_numpy())[launched.index.to_numpy()[1:] - 1]
    begins, returns = launched["start_ns"].to_numpy()[1:], launched["launch_end_ns"].to_numpy()[1:]
    later = begins - np.maximum(idle_since, returns)
    return start if later.max(initial=0) < _HABIT_PART * waited else None


def busy_until(work: pd.DataFrame, launched: pd.DataFrame, since_ns: int) -> tuple[int, int]:
    """Until when the device is at what the steps before the first one launched: what is in the recording of it, and what is not.

    Args:
        work: Device work.
        launched: The part of it whose launch is in the trace.
        since_ns: When the first step begins on the host; both answers where there is nothing of the kind.
    """
    before = work["end_ns"].to_numpy()[left_over(work, launched, since_ns)]
    unseen = backlog_end_ns(launched, work, since_ns)
    return int(before.max(initial=since_ns)), since_ns if unseen is None else unseen
