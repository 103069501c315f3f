"""A run of events becomes the same columns however it is cut: alone, an odd value takes the slow way, among others the fast one."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.reader.columns import signatures
from traces.reader.columns.columns import Columns
from traces.reader.columns.numbers import floats, integers, nanoseconds
from traces.reader.events import Event, ExactEvent
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind

IDS = st.none() | st.integers(-5, 5) | st.integers(-(2**63), 2**64) | st.sampled_from(["7", "0x1f", "", "x", 2.0])
# As `Number` and decimals come out of the decoder.
NUMBERS = IDS | st.floats() | st.decimals(allow_nan=False) | st.sampled_from([1.7e15, 1_700_000_000_000_000, "1.25"])
WORDS = st.sampled_from(["X", "B", "E", "i", "s", "M", "", None])
CATEGORIES = st.sampled_from(
    ["cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "python_function", "user_annotation", "fpga", "", None]
)
NAMES = st.sampled_from(["aten::mm", "ProfilerStep#3", "nccl:all_reduce", "[memory]", "thread_name", "", None])
TEXT_COLUMNS = (
    "input_dims", "input_types", "concrete_inputs", "stack", "grid", "block", "text", "message_type", "message",
)  # fmt: skip
TEXTS = st.sampled_from(["", "[]", "[[2, 3]]", '""', "null"])


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


def columns_of(runs: Sequence[Sequence[Event]]) -> tuple[dict[str, Any], object]:
    """Everything that is kept of events, which come in runs; texts in place of codes, and what was counted."""
    repairs = Repairs("made.json")
    columns = Columns(repairs)
    for run in runs:
        columns.add(list(run))
    columns.finish()
    names, threads, texts = list(columns.names), list(columns.threads), [*columns.decoded_texts(), None]
    kept: dict[str, Any] = {}
    for kind in Kind:
        for column, values in columns.take(kind).items():
            if column in ("name", "thread"):
                kept[f"{kind}.{column}"] = [(names if column == "name" else threads)[code] for code in values]
            elif column in TEXT_COLUMNS:
                kept[f"{kind}.{column}"] = [texts[code] or None for code in values]
            else:
                kept[f"{kind}.{column}"] = [None if value != value else value for value in values.tolist()]
    return kept, (repairs.listed(), columns.unknown, columns.seen_categories, names, threads)


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
