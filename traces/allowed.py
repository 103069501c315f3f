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
# What a process group is called by, and who is in it; its `backend_config` says nothing that is read.
_GROUP_TEXTS = ("pg_name", "pg_desc")
_GROUPS = "pg_config"
DISTRIBUTED_KEYS = ("backend", "rank", "world_size", "pg_count", "nccl_version", _GROUPS)
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
        return _shareable_job(value)
    return value if is_allowed(key, value) else None


def _shareable_job(info: dict[str, Any]) -> dict[str, Any]:
    """Plain values, and of the process groups names, numbers of members and members."""
    groups = info.get(_GROUPS)
    kept = {name: info[name] for name in DISTRIBUTED_KEYS if name != _GROUPS and isinstance(info.get(name), str | int)}
    if isinstance(groups, list):
        kept[_GROUPS] = [_shareable_group(one) for one in groups if isinstance(one, dict)]
    return kept


def _shareable_group(group: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: group[name] for name in _GROUP_TEXTS if isinstance(group.get(name), str)}
    size, ranks = group.get("pg_size"), group.get("ranks")
    if type(size) is int:
        kept["pg_size"] = size
    if isinstance(ranks, list) and all(type(one) is int for one in ranks):
        kept["ranks"] = ranks
    return kept


def _shareable_device(device: dict[str, Any]) -> dict[str, Any]:
    """The name and the numbers; serial numbers and bus addresses are text."""
    return {name: value for name, value in device.items() if name == "name" or isinstance(value, int | float)}
