"""Passes of the garbage collector in the recorded steps that the program itself asks for."""

from __future__ import annotations

import msgspec

from analyzer.facts.recording.stated import dict_of, int_of
from traces.trace import Meta


class AskedCollections(msgspec.Struct, frozen=True):
    """Calls of `gc.collect` while the profiler is on.

    Args:
        full: Passes over all objects, whoever began them.
        asked: Those of them that were asked for.
        file: File of the program's own line that asks for most; None where no line of its own does.
        line: That line.
        function: Its function.
    """

    full: int
    asked: int
    file: str | None
    line: int | None
    function: str | None

    @property
    def mostly(self) -> bool:
        """Whether most passes over all objects are asked for."""
        return 2 * self.asked > self.full


def asked_collections(meta: Meta) -> AskedCollections:
    """Reads what the collector says of them, believing nothing about its shape; none where it says nothing."""
    told = dict_of(meta.advisor.get("collections"))
    row = dict_of(told.get("line"))
    named = all(isinstance(row.get(key), str) for key in ("file", "function")) and int_of(row.get("line")) > 0
    return AskedCollections(
        full=int_of(told.get("full")),
        asked=int_of(told.get("asked")),
        file=row["file"] if named else None,
        line=row["line"] if named else None,
        function=row["function"] if named else None,
    )
