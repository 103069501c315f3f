"""Collectives that lack arguments which others of the same trace have: their bytes and their partners stay unknown.

torch's own `_trace_validator` (2.15) checks the same of every trace. torch before 2.2 writes none of them, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.labels import is_any
from analyzer.units import share
from traces.messages import parse_message
from traces.trace import Trace

_CALL = "record_param_comms"
_LACKING_RATIO = 0.05
_MIN_EVENTS = 3


def check(trace: Trace) -> Iterator[Symptom]:
    """Calls without name, type, sizes or group, beside calls that state them."""
    calls = trace.collectives[is_any(trace.collectives["name"], _CALL)]
    texts = calls["message"].cat.categories.tolist()
    # The last is for -1: there is no text.
    whole = np.array([_is_whole(str(text)) for text in texts] + [False])[calls["message"].cat.codes.to_numpy()]
    lacking = int((~whole).sum())
    if whole.any() and lacking >= _MIN_EVENTS and lacking >= _LACKING_RATIO * len(calls):
        yield Symptom(
            "PG007",
            Gravity.NOTE,
            f"{lacking:,} of {len(calls):,} collectives ({share(lacking / len(calls))}) lack their name, type, sizes or group: "
            "the bytes of those are not known.",
            None,
            lacking,
            touches=(),
        )


def _is_whole(text: str) -> bool:
    said = parse_message(text)
    # Sizes are counted in bytes only where the type is known.
    return said is not None and None not in (said.sent_bytes, said.received_bytes, said.dtype, said.size)
