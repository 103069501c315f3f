"""Where an operator stands under the roofline of its device: the least time that its work takes at the device's peaks."""

from __future__ import annotations

from typing import Literal

import msgspec

from analyzer.hardware.call import Work
from analyzer.hardware.datasheet import Limits
from analyzer.hardware.operators import Operator

# What a kernel takes to start and end: of a shorter one that is most of its time.
BRIEF_NS = 10_000
_FORMATS = {"Half": "fp16", "BFloat16": "bf16", "double": "fp64"}


class Place(msgspec.Struct, frozen=True):
    """Where an operator stands.

    Args:
        format: Number format of its peak; None where it cannot be told or there are no products.
        side: What limits it; None where it cannot be told.
        least_ns: The least time of all its calls, without what a causal mask leaves out; None likewise.
        reason: Why something is None; empty where nothing is.
    """

    format: str | None
    side: Literal["compute", "memory"] | None
    least_ns: float | None
    reason: str


def number_format(operator: Operator, peak: Limits) -> str | None:
    """The format a product runs in: that of its inputs; of 32-bit floats what the kernels' names say, where the device has two."""
    kind = first_type(operator.input_types)
    if kind.startswith("Float8"):
        return "fp8"
    if kind != "float":
        return _FORMATS.get(kind)
    if "tf32" not in peak.flops_per_s:
        return "fp32"
    stated = {"fp32", "tf32"} & set(operator.formats)
    return stated.pop() if len(stated) == 1 else None


def first_type(types: str) -> str:
    """The type of the first input, without `c10::`; empty where it is not recorded."""
    try:
        kinds = msgspec.json.decode(types, type=list[str]) if types else []
    except msgspec.DecodeError:
        return ""
    return kinds[0].removeprefix("c10::") if kinds else ""


def place(operator: Operator, peak: Limits | None) -> Place:
    """Where an operator stands."""
    work = operator.work
    if not isinstance(work, Work):
        return Place(None, None, None, work)
    if peak is None:
        return Place(None, None, None, "the peaks of this device are not known")
    if work.bytes is None:
        return Place(None, None, None, "types were not recorded")
    memory_ns = operator.calls * work.bytes / peak.bytes_per_s * 1e9
    kind = number_format(operator, peak) if work.flops else None
    if not operator.device_ns:
        return Place(kind, None, None, "its kernels took no time")
    if not work.flops:
        return _checked(operator, Place(None, "memory", memory_ns, ""))
    if kind is None or kind not in peak.flops_per_s:
        known = [one for one in ("fp32", "tf32") if one in peak.flops_per_s]
        if kind is not None or first_type(operator.input_types) != "float" or len(known) < 2:
            return Place(None, None, None, "no peak is known for its number format")
        both = (f"{one} at {peak.flops_per_s[one] / 1e12:g} TFLOP/s" for one in known)
        return Place(None, None, None, f"may run as {' or as '.join(both)}")
    compute_ns = peak.products_ns(operator.calls * work.needed, kind)
    side: Literal["compute", "memory"] = "compute" if compute_ns >= memory_ns else "memory"
    return _checked(operator, Place(kind, side, max(compute_ns, memory_ns), ""))


def _checked(operator: Operator, found: Place) -> Place:
    """More than the peak is doubt: the wrong row, lost events, or, of memory, data that a cache still held."""
    if found.least_ns is None or found.least_ns <= operator.device_ns:
        return found
    source = "the peak is not this device's, or was measured beside others"
    if found.side == "memory":
        source = "data came from a cache"
    elif "attention" in operator.op and isinstance(operator.work, Work) and not operator.work.masked:
        source = f"a mask that is not recorded leaves out a part of the work, {source}"
    return Place(found.format, found.side, None, f"faster than the peak: {source}, or events are missing")
