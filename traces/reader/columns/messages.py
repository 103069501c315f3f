"""What events say of the collective they belong to, as one JSON text each; `traces.messages` decodes it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from traces.reader.columns.symbols import Symbols
from traces.reader.events import ABSENT, Args

# Raw JSON of each, in the order of the fields of `traces.messages.Message`.
_STATED = attrgetter(
    "collective_name", "out_elements", "message_type", "group_name", "group_description", "group_ranks", "group_size",
    "group_sequence", "source_rank", "target_rank", "in_splits", "out_splits",
)  # fmt: skip
# What names no collective.
_UNNAMED = frozenset((b"", b'""', b"null"))


class Texts(Protocol):
    """Where texts are numbered."""

    texts: Symbols


def messages(tables: Texts, args: Sequence[Args]) -> npt.NDArray[np.int32]:
    """Codes of what each event's arguments say of its collective, -1 where they name none; shape (events,)."""
    found = np.full(len(args), -1, dtype=np.int32)
    # Most blocks of events have none: a million kernels need no call each.
    if [one.collective_name for one in args].count(ABSENT) < len(args):
        for index, one in enumerate(args):
            if one.collective_name is not ABSENT and bytes(one.collective_name) not in _UNNAMED:
                found[index] = tables.texts[_text(one)]
    return found


def _text(args: Args) -> bytes:
    parts: tuple[Any, ...] = _STATED(args)
    elements = args.message_elements
    sent = b"%d" % elements if isinstance(elements, int) and not isinstance(elements, bool) else b"null"
    return b"[" + b",".join((sent, *(bytes(part) or b"null" for part in parts))) + b"]"
