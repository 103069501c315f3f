"""What a model sends to the device in each of its passes, beside batches from pinned memory: a tensor that it keeps on the host."""

from __future__ import annotations

import numpy as np

from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.transfer.copies import SMALL_BYTES, Copies

# What a model keeps has the same size in each pass, targets of a batch do not.
_EACH_STEP = 0.9
# Fewer passes than this have the same sizes by chance.
_MIN_PASSES = 3


def sent_in_passes(device: DeviceFacts, steps: Steps, to_device: Copies) -> bool:
    """Whether most bytes from pageable memory go between kernels of a pass, in the same sizes each time, while batches are pinned.

    A part of a batch that nobody pinned lies beside the pinned ones, with no kernel between.

    Args:
        device: Work of the devices.
        steps: The steps.
        to_device: Copies to the device in the used steps.
    """
    known = Copies(to_device.of_size(SMALL_BYTES).with_call)
    pinned, pageable = known.of_memory("pinned"), known.of_memory("pageable")
    if not len(pinned) or not pageable.bytes:
        return False
    launched = device.launched
    launches = np.sort(launched["launch_start_ns"].to_numpy(np.int64)[from_source(launched, "kernels")])
    batches = np.sort(pinned.frame["call_start_ns"].to_numpy(np.int64))
    called = pageable.frame["call_start_ns"].to_numpy(np.int64)
    after = np.searchsorted(batches, called)
    before, now = (np.searchsorted(launches, at) for at in (batches[np.maximum(after - 1, 0)], called))
    # Behind the last batch all kernels that are left follow.
    following = np.append(np.searchsorted(launches, batches), len(launches))[after]
    between = (after > 0) & (now > before) & (following > now)
    size = pageable.frame["size_bytes"].to_numpy(np.int64)
    values, number = np.unique(size[between], return_counts=True)
    kept = values[number >= max(_EACH_STEP * steps.count, _MIN_PASSES)]
    return bool(2 * size[between & np.isin(size, kept)].sum() > pageable.bytes)
