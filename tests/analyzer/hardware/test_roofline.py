"""Where an operator stands against the peaks of its device, and what is said where a peak or a format is not known."""

from __future__ import annotations

import pytest

from analyzer.hardware.call import Work
from analyzer.hardware.datasheet import Limits
from analyzer.hardware.operators import Operator
from analyzer.hardware.peaks import PEAKS, limits_of
from analyzer.hardware.roofline import place

SLOW_NS = 10**12


def _product(types: str, formats: dict[str, int] | None = None) -> Operator:
    return Operator(
        op="aten::mm", input_dims="[[64, 64], [64, 64]]", input_types=types, calls=1, device_ns=SLOW_NS, work=Work(10**12, 10**6),
        formats=formats or {},
    )  # fmt: skip


@pytest.mark.parametrize("formats", [{}, {"fp32": 1}, {"tf32": 1}, {"fp32": 1, "tf32": 1}])
@pytest.mark.parametrize("types", ["float", "c10::BFloat16", "c10::Half", "double", "c10::Float8_e4m3fn", ""])
def test_no_row_needs_a_format_that_it_does_not_state(types: str, formats: dict[str, int]) -> None:
    for peak in PEAKS:
        found = place(_product(f'["{types}"]' if types else "", formats), limits_of(peak))
        assert (found.side is None) is bool(found.reason), peak.pattern


def test_a_format_without_a_peak_is_told_as_such() -> None:
    peak = Limits(flops_per_s={"tf32": 77e12, "bf16": 154e12}, bytes_per_s=768e9)
    assert place(_product('["float"]', {"tf32": 1}), peak).side == "compute"
    assert place(_product('["float"]', {"fp32": 1}), peak).reason == "no peak is known for its number format"
    assert place(_product('["float"]'), peak).reason == "no peak is known for its number format"


def test_two_formats_that_it_may_run_in_are_both_named() -> None:
    peak = Limits(flops_per_s={"fp32": 19.5e12, "tf32": 156e12}, bytes_per_s=1555e9)
    assert place(_product('["float"]'), peak).reason == "may run as fp32 at 19.5 TFLOP/s or as tf32 at 156 TFLOP/s"
