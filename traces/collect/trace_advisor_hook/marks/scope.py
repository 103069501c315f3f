"""How far back the call lies whose result is known already."""

from __future__ import annotations

# As the analyzer reads them (`traces.reader.names.again`).
IN_STEP, IN_EACH_STEP, IN_EACH_EPOCH = "in this step", "in each step", "in each epoch"
PREFIX = "Computed again "


def range_name(scope: str, label: str) -> str:
    """What the range around such a call is named in a recording."""
    return f"{PREFIX}{scope}: {label}"
