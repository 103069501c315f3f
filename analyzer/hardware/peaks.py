"""What devices can do at most: dense figures, each row read in a document of the maker's, or in somebody's copy of its table.

No document, no row. Where only figures with sparsity are stated, half of them is what dense products can reach. Wanted and not here
for want of a document: V100 PCIe, MI308X, MI350X, the server and Max-Q editions of RTX PRO 6000 Blackwell, and Intel's Data Center
GPU Max (its traces do not say of what kind a device is, either).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from analyzer.hardware.amd import AMD
from analyzer.hardware.datasheet import Limits, Peak
from analyzer.hardware.nvidia import NVIDIA

PEAKS = (*NVIDIA, *AMD)


def limits_of(peak: Peak) -> Limits:
    """The figures of a row."""
    return Limits(flops_per_s=dict(peak.flops_per_s), bytes_per_s=peak.bytes_per_s)


def peak_of(device: Mapping[str, Any]) -> Peak | None:
    """The row of a device; None where its name, or anything that it states of itself, fits none.

    Args:
        device: One of `deviceProperties`.
    """
    return next((peak for peak in PEAKS if _fits(peak, device)), None)


def _fits(peak: Peak, device: Mapping[str, Any]) -> bool:
    memory = device.get("totalGlobalMem")
    least, most = peak.memory_gib
    return (
        device.get("computeMajor") == peak.compute[0]
        and device.get("computeMinor") == peak.compute[1]
        # Traces of old versions do not state it; a part of a device that was split states fewer.
        and device.get("numSms", peak.multiprocessors) == peak.multiprocessors
        and isinstance(memory, int)
        and least <= memory / 2**30 <= most
        # Last: most rows are ruled out by the others, and a pattern is compiled to be asked.
        and re.fullmatch(peak.pattern, str(device.get("name", ""))) is not None
    )
