"""A run of events becomes the same columns however it is cut: alone, an odd value takes the slow way, among others the fast one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_columns import IDS, NAMES, TEXTS, columns_of

from traces.reader.columns import signatures
from traces.reader.columns.numbers import floats, integers, nanoseconds
from traces.reader.events import Event, ExactEvent

# As `Number` and decimals come out of the decoder.
NUMBERS = IDS | st.floats() | st.decimals(allow_nan=False) | st.sampled_from([1.7e15, 1_700_000_000_000_000, "1.25"])
WORDS = st.sampled_from(["X", "B", "E", "i", "s", "M", "", None])
CATEGORIES = st.sampled_from(
    ["cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "python_function", "user_annotation", "fpga", "", None]
)


@st.composite
def events(draw: st.DrawFn) -> Event:
    args = draw(
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "External id": IDS,
                "correlation": IDS,
                "stream": IDS,
                "device": IDS,
                "bytes": IDS,
                "Call stack": st.sampled_from(["a.py(1): f", ""]),
                "Input Dims": TEXTS.map(lambda text: msgspec.Raw(text.encode()) if text else []),
                "grid": st.sampled_from([[1, 1, 1], [128, 1, 1]]),
                "Bytes": IDS,
                "name": st.sampled_from(["main", 3]),
            },
        )
    )
    stamp = draw(st.none() | st.integers(0, 2**53) | st.floats(0, 1e12) | st.sampled_from(["1.5", "x"]))
    text = msgspec.json.encode(
        {
            "ph": draw(WORDS), "cat": draw(CATEGORIES), "name": draw(NAMES), "pid": draw(IDS), "tid": draw(IDS),
            "ts": stamp, "dur": draw(st.none() | st.integers(-1, 10**7) | st.floats(0, 1e6)), "args": args,
        }
    )  # fmt: skip
    try:
        return msgspec.json.decode(text, type=ExactEvent if draw(st.integers(0, 9)) == 0 else Event)
    except msgspec.ValidationError:
        return msgspec.json.decode(text, type=Event)


@settings(max_examples=60, deadline=None)
@given(st.lists(events(), min_size=1, max_size=12))
def test_a_run_of_events_is_what_its_events_are_alone(run: list[Event]) -> None:
    assert columns_of([run]) == columns_of([[event] for event in run])


def test_signatures_that_are_forgotten_are_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        [Event(ph="X", cat="cpu_op", name=f"op{index % 7}", pid=1, tid=index % 3, ts=index, dur=1) for index in part]
        for part in (range(9), range(9, 12), range(12, 40), range(5))
    ]
    whole = columns_of(runs)
    monkeypatch.setattr(signatures, "_MOST", 2)
    assert columns_of(runs) == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_numbers_together_are_what_each_is_alone(values: list[Any]) -> None:
    # Whole numbers among floats become floats, in a list as alone beside one float.
    if any(type(value) is float for value in values):
        values = [float(value) if type(value) is int and abs(value) > 2**53 else value for value in values]
    together, known = nanoseconds(values)
    alone = [nanoseconds([value]) for value in values]
    assert together.tolist() == [one.tolist()[0] for one, _ in alone]
    assert known.tolist() == [one.tolist()[0] for _, one in alone]


@settings(max_examples=100, deadline=None)
@given(st.lists(IDS, min_size=1, max_size=8))
def test_ids_together_are_what_each_is_alone(values: list[Any]) -> None:
    together, known = integers(values)
    alone = [integers([value]) for value in values]
    assert together.tolist() == [one.tolist()[0] for one, _ in alone]
    assert known.tolist() == [one.tolist()[0] for _, one in alone]
    measured = floats([value for value in values if not isinstance(value, str)])
    assert measured.dtype == np.float64
    assert np.isnan(measured).sum() == values.count(None)


def test_decimals_are_never_packed_as_floats() -> None:
    stamps = [Decimal("1700000000000000.001"), Decimal("1700000000000000.002")]
    assert np.diff(nanoseconds(stamps)[0]).tolist() == [1]
