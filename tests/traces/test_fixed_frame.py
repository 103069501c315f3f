"""Frames of a trace hand out each column once, and what is made of them is plain."""

from __future__ import annotations

import pickle

import pandas as pd

from building.builders import TraceBuilder, as_read
from traces.fixed_frame import FixedFrame, fixed
from traces.schema import SCHEMA


def frame() -> FixedFrame:
    return FixedFrame({"name": pd.Categorical(["a", "b", "a"]), "start_ns": [1, 2, 3]})


def test_a_column_is_made_once() -> None:
    one = frame()
    assert one["start_ns"] is one["start_ns"]
    assert one["start_ns"].tolist() == [1, 2, 3]
    assert type(one["start_ns"]) is pd.Series


def test_a_column_that_is_set_is_made_anew() -> None:
    one = frame()
    before = one["start_ns"]
    one["start_ns"] = [4, 5, 6]
    assert one["start_ns"].tolist() == [4, 5, 6]
    assert before.tolist() == [1, 2, 3]


def test_what_is_made_of_it_is_free_to_be_changed() -> None:
    one = frame()
    made = (one[one["start_ns"] > 1], one[["start_ns"]], one.iloc[:1], one.copy(), one.assign(end_ns=0))
    assert {type(part) for part in made} == {pd.DataFrame}
    made[3].loc[:, "start_ns"] = 0
    assert made[3]["start_ns"].sum() == 0
    assert one["start_ns"].tolist() == [1, 2, 3]


def test_it_goes_to_other_processes() -> None:
    one = frame()
    assert one["start_ns"].sum() == 6
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(one)), one)


def test_one_that_is_fixed_is_not_made_again() -> None:
    one = frame()
    assert fixed(one) is one
    assert type(fixed(one.copy())) is FixedFrame


def test_every_frame_of_a_trace_is() -> None:
    trace = as_read(TraceBuilder().step(0, 0, 100).content())
    assert {type(getattr(trace, name)) for name in SCHEMA} == {FixedFrame}
    assert {type(getattr(trace.apart(), name)) for name in SCHEMA} == {pd.DataFrame}
