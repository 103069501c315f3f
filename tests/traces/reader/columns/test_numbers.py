"""No digit of a time stamp or of an id is lost."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from trace_files import read_text

from building.builders import TraceBuilder
from traces.reader.columns.numbers import LIMIT_US, integers, nanoseconds
from traces.trace import Trace


def two_ops(folder: Path, first: str, second: str, dur: str = "1") -> Trace:
    event = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s,"args":{}}'
    return read_text(folder, '{"traceEvents":[' + event % ("a", first, dur) + "," + event % ("b", second, dur) + "]}")


@pytest.mark.parametrize(
    ("first", "second"),
    [("1700000000000000.001", "1700000000000000.004"), ('"1700000000000000.001"', '"1700000000000000.004"')],
)
def test_absolute_stamps_with_a_fraction_keep_nanoseconds(tmp_path: Path, first: str, second: str) -> None:
    trace = two_ops(tmp_path, first, second, "0.003")
    assert trace.ops["start_ns"].tolist() == [0, 3]
    assert trace.ops["dur_ns"].tolist() == [3, 3]
    assert trace.meta.origin_ns == 1_700_000_000_000_000_001


def test_fractions_late_in_a_file_of_whole_stamps_keep_nanoseconds(tmp_path: Path) -> None:
    whole = '{"ph":"M","name":"thread_name","pid":1,"tid":1,"ts":1700000000000000,"args":{"name":"x"}},' * 300
    fine = ",".join(
        f'{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1700000000000000.{i:03d},"dur":0.5}}'
        for i in range(200)
    )
    trace = read_text(tmp_path, '{"traceEvents":[' + whole + fine + "]}")
    assert trace.ops["start_ns"].tolist() == list(range(200))


def test_every_way_to_write_a_number_gives_the_same() -> None:
    values = [1.5, "1.5", Decimal("1.5"), None, "nonsense", float("nan"), 3, "inf"]
    result, known = nanoseconds(values)
    assert result.tolist() == [1500, 1500, 1500, 0, 0, 0, 3000, 0]
    assert known.tolist() == [True, True, True, False, False, False, True, False]


def test_a_rare_kind_of_number_after_many_plain_ones_is_not_overlooked() -> None:
    result, known = nanoseconds([1.0] * 1000 + [Decimal("1700000000000000.001"), "1700000000000000.002"])
    assert known.all()
    assert result[-2:].tolist() == [1_700_000_000_000_000_001, 1_700_000_000_000_000_002]


def test_values_beyond_any_clock_stay_absurd_and_fit() -> None:
    result, known = nanoseconds([1e300, -1e300, "1e300"])
    assert known.all()
    assert result.tolist() == [LIMIT_US * 1000, -LIMIT_US * 1000, LIMIT_US * 1000]


def test_large_ids_stay_apart() -> None:
    ids = [2**53, 2**53 + 1, 2**63 - 1, 2**64 - 1, str(2**64 - 2), "0x10", None, "text", 1.0]
    result, known = integers(ids)
    assert known.tolist() == [True] * 6 + [False, False, True]
    assert len(set(result[known].tolist())) == 7
    assert result[:3].tolist() == ids[:3]
    assert result[3] == -1


@pytest.mark.parametrize("beside", [[], [None], [1.5], [None, 1.5]])
def test_neighbours_stay_apart_beside_fractions_and_nothing(beside: list[float | None]) -> None:
    result, known = integers([2**53, 2**53 + 1, *beside])
    assert result[:2].tolist() == [2**53, 2**53 + 1]
    assert known.tolist() == [True, True, *(value is not None for value in beside)]


@pytest.mark.parametrize("beside", [7, 2**64 - 1])
def test_an_id_that_is_no_number_is_missing(beside: int) -> None:
    result, known = integers([beside, float("nan"), float("inf")])
    assert known.tolist() == [True, False, False]
    assert int(result[0]) % 2**64 == beside


def test_launches_and_kernels_meet_by_ids_beyond_float64() -> None:
    builder = TraceBuilder()
    for offset in range(3):
        builder.runtime("cudaLaunchKernel", 10 + offset, 1, correlation=2**63 + offset)
        builder.kernel("k", 20 + offset, 1, correlation=2**63 + offset)
    trace = builder.trace()
    assert trace.kernels["correlation"].nunique() == 3
    assert sorted(trace.kernels["correlation"]) == sorted(trace.runtime["correlation"])
