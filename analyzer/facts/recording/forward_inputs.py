"""How many samples a model gets in a call, where a recorded program only runs it: as `advisor collect` saw its arguments."""

from __future__ import annotations

import msgspec

from analyzer.facts.recording.stated import int_of
from traces.trace import Meta


class ForwardInputs(msgspec.Struct, frozen=True):
    """Calls of the model in the recorded steps.

    Args:
        calls: How many.
        single: With one sample: the first size of each tensor with two sizes or more is 1.
    """

    calls: int
    single: int


def forward_inputs(meta: Meta) -> ForwardInputs | None:
    """What the recording says of it, believing nothing about its shape; None where it says nothing."""
    told = meta.advisor.get("forward_inputs")
    if not isinstance(told, dict):
        return None
    calls, single = (int_of(told.get(name)) for name in ("calls", "single"))
    return ForwardInputs(calls, single) if 0 <= single <= calls and calls else None
