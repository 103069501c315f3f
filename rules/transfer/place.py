"""Where in the user's code copies are asked for."""

from __future__ import annotations

import pandas as pd

from analyzer.facts import Facts
from analyzer.finding import Location


def location(facts: Facts, copies: pd.DataFrame) -> Location | None:
    """The user's line that asks for most of the host time of these copies; None without stacks."""
    known = copies[copies["call_start_ns"].notna().to_numpy()]
    if not len(known):
        return None
    start = known["call_start_ns"].to_numpy("int64")
    weight = known["call_end_ns"].to_numpy("int64") - start
    line = facts.host.stacks.commonest(known["call_thread"].to_numpy("int64"), start, facts.host.main_thread, weight)
    return None if line is None else Location(line.file, line.line, line.function, line.begins)
