"""Devices of published stories, as torch writes them into a trace."""

from __future__ import annotations

from typing import Any


def _cuda(name: str, memory: int, capability: tuple[int, int], multiprocessors: int) -> dict[str, Any]:
    major, minor = capability
    return {
        "id": 0, "name": name, "totalGlobalMem": memory, "computeMajor": major, "computeMinor": minor, "warpSize": 32,
        "numSms": multiprocessors,
    }  # fmt: skip


A100 = _cuda("NVIDIA A100-SXM4-80GB", 85_094_825_984, (8, 0), 108)
RTX_2080_TI = _cuda("NVIDIA GeForce RTX 2080 Ti", 11_554_717_696, (7, 5), 68)
RTX_3080_TI = _cuda("NVIDIA GeForce RTX 3080 Ti", 12_636_192_768, (8, 6), 80)
RTX_3090 = _cuda("NVIDIA GeForce RTX 3090", 25_438_126_080, (8, 6), 82)
# Of 48 pairs of compute units.
RX_7900_XTX = _cuda("AMD Radeon RX 7900 XTX", 25_753_026_560, (11, 0), 48)


def of(device: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Top-level keys of a trace from one such device."""
    return {"deviceProperties": [dict(device)], **keys}
