"""Events that are decoded by their category become the same columns as events that are decoded into one struct for all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_columns import IDS, NAMES, TEXTS, columns_of
from trace_files import sound

from traces.reader.columns import by_category
from traces.reader.decode.shapes import EventsByCategory, TypedEvents
from traces.reader.events import Event
from traces.reader.mend.repairs import Repairs

TORCH = [
    "cpu_op", "user_annotation", "python_function", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync",
    "gpu_user_annotation", "overhead", "Operator", "Runtime", "Kernel", "Memcpy", "Trace",
]  # fmt: skip
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "External id": IDS, "external id": IDS, "correlation": IDS, "device": IDS, "stream": IDS, "Sequence number": IDS,
    "bytes": IDS, "size": IDS, "blocks per SM": IDS, "wait_on_cuda_event_record_corr_id": IDS, "Python id": IDS,
    "Python parent id": IDS, "In msg nelems": IDS, "Bytes": IDS, "Device Type": IDS, "Total Allocated": IDS,
    "est. achieved occupancy %": IDS, "Call stack": st.sampled_from(["a.py(1): f", ""]), "name": st.just("main"), "": IDS,
} | dict.fromkeys(
    (
        "Input Dims", "Input dims", "Input type", "Concrete Inputs", "grid", "block", "Collective name", "dtype", "Group size",
        "kernel_flop", "kernel_num_gb", "occupancy",
    ),
    TEXTS.map(lambda text: msgspec.Raw(text.encode() or b"[]")),
)  # fmt: skip
STAMPS = st.none() | st.integers(0, 2**53) | st.floats(0, 1e12) | st.sampled_from(["1.5", "x"])


@st.composite
def event_texts(draw: st.DrawFn) -> dict[str, Any]:
    """An event as torch writes it, or a little otherwise."""
    event: dict[str, Any] = {"ph": "X", "cat": draw(st.sampled_from(TORCH)), "name": draw(NAMES)}
    event |= {"pid": draw(IDS), "tid": draw(IDS), "ts": draw(STAMPS), "dur": draw(STAMPS)}
    which = draw(st.integers(0, 9))
    if which == 0:
        event |= {"ph": draw(st.sampled_from("sf")), "cat": "ac2g", "id": draw(st.integers(0, 1 << 41))}
    elif which == 1:
        event |= {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]"}
    if draw(st.booleans()):
        event["args"] = draw(st.fixed_dictionaries({}, optional=ARGUMENTS))
    return event


def decoded(shape: type[TypedEvents], texts: list[dict[str, Any]]) -> list[Event]:
    events = shape(Repairs("made.json")).many(msgspec.json.encode(texts), (0, 0))
    return events


@settings(max_examples=200, deadline=None)
@given(st.lists(event_texts(), min_size=1, max_size=12))
def test_columns_are_those_of_one_struct_for_all(texts: list[dict[str, Any]]) -> None:
    by_one, by_each = decoded(TypedEvents, texts), decoded(EventsByCategory, texts)
    assert columns_of([by_each]) == columns_of([by_one])
    # Where text is mended, events of both come in one run.
    half = len(texts) // 2
    assert columns_of([by_each[:half] + by_one[half:]]) == columns_of([by_one])


@pytest.mark.parametrize("category", TORCH)
def test_what_torch_writes_fits(category: str) -> None:
    text: dict[str, Any] = {"ph": "X", "cat": category, "name": "a", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}
    (event,) = decoded(EventsByCategory, [text | {"args": {"External id": 7}}])
    assert by_category.is_by_category(event)


@pytest.mark.parametrize(
    "odd",
    [
        {"cat": "fpga"},
        {"ph": "B"},
        {"ph": None},
        {"cat": None},
        {"ph": "s", "cat": "ac2g", "id": 1 << 40},
        {"ph": "s", "id": 1},
    ],
)
def test_what_does_not_fit_is_decoded_as_ever(odd: dict[str, Any]) -> None:
    text = {"ph": "X", "cat": "kernel", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    events = decoded(EventsByCategory, [text, text | odd])
    assert [type(event) for event in events] == [Event, Event]


def test_a_file_of_misfits_is_seldom_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    class Counted:
        def decode(self, array: bytes) -> Any:
            tried.append(array)
            return decoder.decode(array)

    decoder = by_category.decoder(exact=False)
    monkeypatch.setattr(by_category, "decoder", lambda *, exact: Counted())
    shape = EventsByCategory(Repairs("made.json"))
    for _ in range(1000):
        shape.many(b'[{"ph": "X", "cat": "fpga"}]', (0, 0))
    assert 10 < len(tried) < 100
    for _ in range(100):
        (event,) = shape.many(b'[{"ph": "X", "cat": "kernel"}]', (0, 0))
    assert by_category.is_by_category(event)


def test_what_the_tests_write_goes_by_category() -> None:
    events = [event for event in sound().events if event.get("cat")]
    assert {by_category.is_by_category(event) for event in decoded(EventsByCategory, events)} == {True}
