"""Which top-level keys of a trace may be handed around (PG009); everything else may tell who recorded it, where and with what.

An allow-list, so that a key a later torch adds counts as private until somebody looked at it.
"""

from __future__ import annotations

from typing import Any

KEYS = frozenset(
    {
        "schemaVersion",
        "record_shapes",
        "with_stack",
        "with_flops",
        "with_modules",
        "profile_memory",
        "displayTimeUnit",
        "baseTimeNanoseconds",
    }
)
DISTRIBUTED_KEYS = ("backend", "rank", "world_size", "pg_count", "nccl_version", "pg_config")
# Kept in part: the named fields of `distributedInfo`, and of each device its name and its numbers.
PARTLY = frozenset({"distributedInfo", "deviceProperties"})
# Written by `advisor collect` itself, value by value.
OWN = frozenset({"advisor"})


def is_allowed(key: str, value: object) -> bool:
    """Whether a key may be handed around as it is; versions are recognised by their ending."""
    return key in KEYS or (key.endswith("_version") and isinstance(value, str | int | float))


def shareable(key: str, value: Any) -> Any:
    """What may be handed around of a top-level value: all, a part, or None for nothing."""
    if key == "deviceProperties" and isinstance(value, list):
        return [_shareable_device(device) for device in value if isinstance(device, dict)]
    if key == "distributedInfo" and isinstance(value, dict):
        return {name: value[name] for name in DISTRIBUTED_KEYS if isinstance(value.get(name), str | int)}
    return value if is_allowed(key, value) else None


def _shareable_device(device: dict[str, Any]) -> dict[str, Any]:
    """The name and the numbers; serial numbers and bus addresses are text."""
    return {name: value for name, value in device.items() if name == "name" or isinstance(value, int | float)}
