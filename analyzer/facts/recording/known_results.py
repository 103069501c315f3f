"""Calls of modules that compute what is known already, as `advisor collect` found them in early steps of the loop."""

from __future__ import annotations

import msgspec

from analyzer.facts.recording.stated import dict_of, int_of
from traces.reader.names.again import SCOPES
from traces.trace import Meta

_MOST_ROWS = 1000


class KnownResult(msgspec.Struct, frozen=True):
    """One module that is called so.

    Args:
        module: By which name its outermost module calls it, and its class.
        scope: How far back the result lies; of `traces.reader.names.again.SCOPES`.
        calls: Such calls a step.
        result_bytes: Bytes of their results, a step.
        forward_only: Whether a gradient goes through such a call and not through the one before, which is then the one to drop.
        marked: Whether such calls are marked in the recording: not those so short and many that marks would be felt.
        file: File of the program's own line in the first of them; None where no line of its own leads there.
        line: That line.
        function: Its function.
    """

    module: str
    scope: str
    calls: int
    result_bytes: int
    forward_only: bool
    marked: bool
    file: str | None
    line: int | None
    function: str | None


def known_results(meta: Meta) -> tuple[KnownResult, ...] | None:
    """Reads what the recording says, believing nothing about its shape; None where nobody looked."""
    told = meta.advisor.get("computed_again")
    if not isinstance(told, list):
        return None
    return tuple(found for row in map(dict_of, told[:_MOST_ROWS]) if (found := _result(row)) is not None)


def _result(row: dict[str, object]) -> KnownResult | None:
    module, scope, calls = row.get("module"), row.get("scope"), int_of(row.get("calls"))
    if not isinstance(module, str) or not isinstance(scope, str) or scope not in SCOPES or not calls:
        return None
    file, line, function = row.get("file"), int_of(row.get("line")), row.get("function")
    named = isinstance(file, str) and isinstance(function, str) and line > 0
    return KnownResult(
        module=module,
        scope=scope,
        calls=calls,
        result_bytes=int_of(row.get("result_bytes")),
        forward_only=row.get("forward_only") is True,
        marked=row.get("marked") is True,
        file=str(file) if named else None,
        line=line if named else None,
        function=str(function) if named else None,
    )
