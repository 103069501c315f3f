"""What a framework's loop does in the steps of a run beside training them, by looks at steps that were not recorded.

Of a loop that a framework runs, the only line of the program's own on the stack is the one that began it. The functions above tell.
"""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.facts.recording.run_places import place_of, usual_looks
from analyzer.facts.recording.stated import int_of


class UsualWork(msgspec.Struct, frozen=True):
    """What usual steps were seen in most, of what has a name of its own: saving, logging, plotting, evaluation.

    Args:
        kind: Which of them.
        function: The function that was seen most.
        file: Its file.
        ratio: Share of the looks, 0..1.
    """

    kind: str
    function: str
    file: str
    ratio: float


# What every loop does, and what says nothing.
_OF_ANY_LOOP = (None, "step", "loading", "ranks")


def usual_work(between: dict[str, Any]) -> UsualWork | None:
    """What was seen most; None where too few looks were taken, or none of it has such a name.

    Args:
        between: As the recording has it.
    """
    rows, total = usual_looks(between)
    kinds: dict[str, int] = {}
    functions: dict[tuple[str, str, str], int] = {}
    for row in rows:
        place = place_of(row, others=False)
        if place is None or place.kind is None or place.kind in _OF_ANY_LOOP:
            continue
        samples = int_of(row.get("samples"))
        kinds[place.kind] = kinds.get(place.kind, 0) + samples
        named = (place.kind, place.function, place.file)
        functions[named] = functions.get(named, 0) + samples
    if not kinds:
        return None
    most = max(kinds, key=lambda kind: kinds[kind])
    _, function, file = max((one for one in functions if one[0] == most), key=lambda one: functions[one])
    return UsualWork(most, function, file, min(1.0, kinds[most] / total))
