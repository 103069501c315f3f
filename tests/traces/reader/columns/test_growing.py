"""Columns that grow run by run are what joining the runs gives, and equal values take the memory of one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.reader.columns.columns import Columns
from traces.reader.columns.growing import Growing, of_rows, thrifty
from traces.reader.events import Args, Event
from traces.reader.frames.builder import FrameBuilder
from traces.reader.mend.repairs import Repairs

_VALUES = {
    "int64": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
    "int8": st.sampled_from([0, 1, -128]),
    "bool": st.booleans(),
    "float64": st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]),
}
_RUNS = st.sampled_from(sorted(_VALUES)).flatmap(
    lambda dtype: st.lists(
        st.lists(_VALUES[dtype], max_size=4)
        | st.tuples(_VALUES[dtype], st.integers(1, 9)).map(lambda of: [of[0]] * of[1]),
        max_size=8,
    ).map(lambda runs: [np.array(run, dtype=dtype) for run in runs] or [np.empty(0, dtype=dtype)])
)


def _grown(runs: list[npt.NDArray[Any]]) -> Growing:
    column = Growing(runs[0].dtype)
    for run in runs:
        column.add(run)
    return column


@given(_RUNS)
def test_a_column_is_its_runs_joined_to_the_bit(runs: list[npt.NDArray[Any]]) -> None:
    joined, found = np.concatenate(runs), _grown([run.copy() for run in runs]).whole()
    assert found.dtype == joined.dtype
    assert found.tobytes() == joined.tobytes()


@given(_RUNS, st.integers(1, 8))
def test_a_column_from_another_process_goes_on_growing(runs: list[npt.NDArray[Any]], cut: int) -> None:
    sent: Growing = pickle.loads(pickle.dumps(_grown(runs[:cut]), protocol=5))
    for run in runs[cut:]:
        sent.add(run)
    assert sent.whole().tobytes() == np.concatenate(runs).tobytes()


def test_runs_that_were_added_stay_as_they_are() -> None:
    first = np.arange(4)
    column = _grown([first, np.arange(4, 9)])
    assert column.whole().tolist() == list(range(9))
    assert first.tolist() == list(range(4))


@pytest.mark.parametrize("value", [7, float("nan"), True, -1.0])
def test_equal_values_take_the_memory_of_one(value: float) -> None:
    column = _grown([np.full(1000, value), np.full(9000, value)])
    assert column.held_bytes <= 8
    assert pickle.dumps(column).__sizeof__() < 1000
    whole = column.whole()
    assert len(whole) == 10_000
    assert whole.strides == (0,)
    assert not whole.flags.writeable


def test_a_value_that_differs_ends_it() -> None:
    column = _grown([np.full(1000, -1, dtype=np.int32), np.array([-1, 3, -1], dtype=np.int32)])
    assert column.whole().tolist() == [-1] * 1001 + [3, -1]


def test_what_does_not_fit_the_type_is_not_cut() -> None:
    column = _grown([np.arange(3, dtype=np.int32)])
    with pytest.raises(TypeError, match="safe"):
        column.add(np.array([2**40]))


def test_large_runs_are_compared_as_small_ones_are() -> None:
    values = np.full(100_000, np.nan)
    assert thrifty(values).strides == (0,)
    values[50_000] = 1
    assert thrifty(values) is values


def test_rows_of_one_value_are_that_value() -> None:
    rows = np.array([3, 1, 1])
    assert of_rows(thrifty(np.full(5, 2)), rows).strides == (0,)
    assert of_rows(np.arange(5), rows).tolist() == [3, 1, 1]


def test_what_no_op_states_takes_no_memory() -> None:
    repairs = Repairs("made.json")
    columns = Columns(repairs)
    for run in range(0, 8_000, 2_000):
        columns.add(
            [
                Event("X", "cpu_op", "aten::mm", 42, n % 2, ts=5.0 * n, dur=3.0 + n % 7, args=Args(external_id=n))
                for n in range(run, run + 2_000)
            ]
        )
    columns.finish()
    # Thread, start, duration and id of each; room to grow beside.
    assert columns.held_bytes / columns.events < 1.2 * (4 + 8 + 8 + 8)
    ops = FrameBuilder(columns, repairs).frames()["ops"]
    assert len(ops) == 8_000
    alone = {name for name in ("process", "stated_flops", "stated_bytes") if ops[name].to_numpy().strides == (0,)}
    assert alone == {"process", "stated_flops", "stated_bytes"}
    assert ops["sequence"].isna().all()
    assert ops["external_id"].tolist() == list(range(8_000))
