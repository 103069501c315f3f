"""The process groups that a trace says its rank is in: `pg_config` of torch's `distributedInfo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary_part import MOST_RANKS


def configured_groups(distributed: Mapping[str, Any]) -> tuple[GroupPart, ...]:
    """The groups in the order in which they were made, one of each name; empty where the trace lists none.

    Args:
        distributed: `distributedInfo` as recorded.
    """
    stated = distributed.get("pg_config")
    every = map(_configured, stated if isinstance(stated, list) else ())
    return tuple({one.name: one for one in every if one is not None}.values())


def _configured(value: Any) -> GroupPart | None:
    if not isinstance(value, dict) or "pg_name" not in value:
        return None
    ranks, size = value.get("ranks"), value.get("pg_size")
    whole = isinstance(ranks, list) and all(type(one) is int and 0 <= one < MOST_RANKS for one in ranks)
    return GroupPart(
        name=str(value["pg_name"]),
        description=str(value["pg_desc"]) if value.get("pg_desc") else None,
        ranks=tuple(ranks) if whole and isinstance(ranks, list) else (),
        size=size if type(size) is int and 0 <= size <= MOST_RANKS else None,
    )
