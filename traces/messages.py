"""What torch writes of a collective into the arguments of its kernel and of `record_param_comms`.

Keys and their meaning: pytorch, torch/csrc/profiler/util.cpp (`saveNcclMeta`), and kineto, libkineto/src/output_json.cpp.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from traces.patterns import Pattern

# Bytes of an element by the names of `c10::ScalarType`.
ELEMENT_BYTES = {
    "Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1,
    "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}  # fmt: skip
_WHOLE = Pattern(r"\[\s*(?:-?\d{1,9}\s*(?:,\s*-?\d{1,9}\s*)*)?\]$")
_NUMBER = Pattern(r"-?\d{1,18}$")
# More elements than any machine holds; what states more is damaged or made up, and would not fit where it is counted in bytes.
_MOST = 2**49


class Message(msgspec.Struct, frozen=True):
    """One collective as one rank states it; None or empty where it does not say.

    Args:
        name: `allreduce`, `_allgather_base`, `send`, ...
        sent_bytes: What this rank puts in.
        received_bytes: What it gets out.
        dtype: The elements' type as c10 names it.
        group: Name of the process group: unique within the job where torch made it up, else as the program says.
        description: What the program says the group is for.
        ranks: Members of the group, global ranks; empty where torch cut the list short.
        size: Number of members.
        sequence: Number of the collective within its group; messages between two ranks count on their own.
        source: Global rank that a `recv` is from.
        target: Global rank that a `send` is to.
        sent_splits: Elements for each member, of an all-to-all with uneven parts.
        received_splits: Elements from each member.
    """

    name: str
    sent_bytes: int | None = None
    received_bytes: int | None = None
    dtype: str | None = None
    group: str | None = None
    description: str | None = None
    ranks: tuple[int, ...] = ()
    size: int | None = None
    sequence: int | None = None
    source: int | None = None
    target: int | None = None
    sent_splits: tuple[int, ...] = ()
    received_splits: tuple[int, ...] = ()


def parse_message(text: str) -> Message | None:
    """The message in a cell of the column `message`; None where the cell is no such text."""
    try:
        parts = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(parts, list) or len(parts) != 13 or not isinstance(parts[1], str):
        return None
    dtype = parts[3] if isinstance(parts[3], str) else None
    width = ELEMENT_BYTES.get(dtype or "")
    sent, received = _number(parts[0]), _number(parts[2])
    return Message(
        name=parts[1],
        sent_bytes=None if sent is None or width is None else sent * width,
        received_bytes=None if received is None or width is None else received * width,
        dtype=dtype,
        group=_text(parts[4]),
        description=_text(parts[5]),
        ranks=_list(parts[6]),
        size=_number(parts[7]),
        sequence=_number(parts[8]),
        source=_number(parts[9]),
        target=_number(parts[10]),
        sent_splits=_list(parts[11]),
        received_splits=_list(parts[12]),
    )


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.match(value):
        value = int(value)
    # Older versions of kineto write a negative number for what is not stated.
    return value if isinstance(value, int) and 0 <= value <= _MOST else None


def _list(value: Any) -> tuple[int, ...]:
    """Numbers in a list, or in its text; none where torch cut it short with an ellipsis."""
    if isinstance(value, str):
        return _listed(value)
    return _plausible(tuple(value)) if isinstance(value, list) and all(type(one) is int for one in value) else ()


def _plausible(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return numbers if all(0 <= one <= _MOST for one in numbers) else ()


@lru_cache(maxsize=4096)
def _listed(text: str) -> tuple[int, ...]:
    return _plausible(tuple(msgspec.json.decode(text, type=list[int]))) if _WHOLE.match(text) else ()
