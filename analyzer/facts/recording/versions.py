"""Which versions a program ran with, as far as its trace states them; what nobody stated is unknown, not absent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from traces.trace import Meta

Version = tuple[int, int]


class Versions(msgspec.Struct, frozen=True):
    """Major and minor versions of what a program ran with.

    Args:
        known: By package as it is installed, and `python`; a package that is not named here may be there or not.
        torch_before: The first version of torch that does not write as this trace is written; None where nothing tells.
        on_cuda: Whether the program computes on cards of NVIDIA: then `CUDA`, `NCCL` and `compute capability` are known by these
            names.
        on_rocm: Whether it computes on cards of AMD.
    """

    known: Mapping[str, Version]
    torch_before: Version | None = None
    on_cuda: bool = False
    on_rocm: bool = False

    def has(self, package: str, since: Version) -> bool | None:
        """Whether the program ran with a package at least so new; None where the trace does not tell."""
        version = self.known.get(package)
        if version is not None:
            return version >= since
        if package == "torch" and self.torch_before is not None and self.torch_before <= since:
            return False
        return None


def versions(meta: Meta) -> Versions:
    """Reads what `advisor collect` and torch recorded, believing nothing about its shape."""
    stated = [meta.advisor.get("versions"), _imported(meta.advisor.get("frameworks"))]
    known = {
        name: version
        for table in stated
        if isinstance(table, dict)
        for name, version in ((name, parsed(text)) for name, text in table.items())
        if version is not None
    }
    on_cuda = meta.device_kind == "cuda"
    on_rocm = meta.device_kind == "rocm"
    known = {**known, **_of_cards(meta), **_of_nccl(meta)} if on_cuda else known
    return Versions(known, meta.torch_before, on_cuda, on_rocm)


def cuda_runtime(meta: Meta) -> int | None:
    """CUDA's own number as the trace states it, 12060 for 12.6; None on other platforms."""
    value = meta.top.get("cuda_runtime_version")
    return value if isinstance(value, int) and value > 1000 and meta.device_kind == "cuda" else None


def _of_cards(meta: Meta) -> dict[str, Version]:
    """CUDA's own number, 12060 for 12.6, and the compute capability where all cards of the machine have the same."""
    found: dict[str, Version] = {}
    runtime = cuda_runtime(meta)
    if runtime is not None:
        found["CUDA"] = (runtime // 1000, runtime % 1000 // 10)
    cards = {(card.get("computeMajor"), card.get("computeMinor")) for card in meta.devices}
    major, minor = cards.pop() if len(cards) == 1 else (None, None)
    if isinstance(major, int) and isinstance(minor, int):
        found["compute capability"] = (major, minor)
    return found


def _of_nccl(meta: Meta) -> dict[str, Version]:
    """As torch states it in `distributedInfo` (torch/profiler/profiler.py, `_get_distributed_info`)."""
    version = parsed(meta.distributed.get("nccl_version"))
    return {} if version is None else {"NCCL": version}


def parsed(value: Any) -> Version | None:
    """`2.4.1+cu121` as (2, 4); None for what is no version."""
    match = re.match(r"(\d{1,4})\.(\d{1,3})", value) if isinstance(value, str) else None
    return (int(match[1]), int(match[2])) if match else None


def _imported(frameworks: Any) -> Any:
    return frameworks.get("imported") if isinstance(frameworks, dict) else None
