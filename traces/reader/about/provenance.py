"""What a file that was written from a damaged one says of it: the copy is sound, and still lacks what was lost.

Without it a cut trace that was repaired, slimmed or annotated would be read as whole, and what is missing taken for waiting.
"""

from __future__ import annotations

from typing import Any

from traces.reader.mend.repairs import Repairs

# The top-level key, and the kinds of damage that no copy undoes.
KEY = "advisor_lost"
_LOSSES = ("truncated", "truncated-gzip", "damaged-gzip", "wrong-checksum", "lost-event")


def with_losses(top: dict[str, Any], repairs: Repairs) -> dict[str, Any]:
    """The top-level keys of a copy: those of the original, and what was lost in it or before.

    Args:
        top: The original's keys.
        repairs: What was mended in it.
    """
    before = stated(top)
    lost = {kind: repairs.count(kind) + before.get(kind, 0) for kind in _LOSSES}
    return top | ({KEY: {kind: count for kind, count in lost.items() if count}} if any(lost.values()) else {})


def recall(top: dict[str, Any], repairs: Repairs) -> None:
    """Counts what was lost before this file was written; it is no damage of this one, so that strict reading goes on."""
    for kind, count in stated(top).items():
        repairs.follow(kind, count, detail=" (in the file that this one was made from)")


def stated(top: dict[str, Any]) -> dict[str, int]:
    """What the file says was lost before it was written, by kind; what it makes up is left out."""
    value = top.get(KEY)
    stated = value.items() if isinstance(value, dict) else ()
    return {kind: count for kind, count in stated if kind in _LOSSES and type(count) is int and count > 0}
