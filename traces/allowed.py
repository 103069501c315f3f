"""Which top-level keys of a trace may be handed around (PG009); everything else may tell who recorded it, where and with what.

An allow-list, so that a key a later torch adds counts as private until somebody looked at it.
"""

from __future__ import annotations

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
DISTRIBUTED_KEYS = ("backend", "rank", "world_size")
# Kept in part: the named fields of `distributedInfo`, and of each device its name and its numbers.
PARTLY = frozenset({"distributedInfo", "deviceProperties"})
# Written by `advisor collect` itself, value by value.
OWN = frozenset({"advisor"})


def is_allowed(key: str, value: object) -> bool:
    """Whether a key may be handed around as it is; versions are recognised by their ending."""
    return key in KEYS or (key.endswith("_version") and isinstance(value, str | int | float))
