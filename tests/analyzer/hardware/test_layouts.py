"""How tensors lie in memory, by shapes and strides as torch records them."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.hardware.layouts import layout_of, layouts_of, of_convolutions
from building.builders import TraceBuilder

IMAGES = (64, 256, 56, 56)


@pytest.mark.parametrize(
    ("shape", "strides", "layout"),
    [
        (IMAGES, (802_816, 3_136, 56, 1), "row by row"),
        (IMAGES, (802_816, 1, 14_336, 256), "channels last"),
        ((64, 256, 8, 56, 56), (6_422_528, 1, 802_816, 14_336, 256), "channels last"),
        ((4_096, 1_024), (1, 4_096), "permuted"),
        ((4_096, 1_024), (2_048, 1), "with gaps"),
        ((4_096, 1_024), (0, 1), "expanded"),
        # Of one side that counts both orders are one; the strides of the others say nothing.
        ((4_096, 1), (1, 7), None),
        ((64, 1, 56, 56), (3_136, 9, 56, 1), "row by row"),
        ((4_096, 1_024), (1_024,), None),
    ],
)
def test_the_order_is_that_of_the_strides(shape: tuple[int, ...], strides: tuple[int, ...], layout: str | None) -> None:
    assert layout_of(shape, strides) == layout


def test_what_is_no_tensor_has_no_layout() -> None:
    assert layouts_of("[[8, 4], [], [8, 4]]", "[[4, 1], [], [1, 8]]") == ("row by row", "permuted")
    assert layouts_of("[[[8, 4]], [8, 4]]", "[[[4, 1]], [4, 1]]") == ("row by row",)
    assert layouts_of("broken", "[[1]]") == ()


@pytest.mark.parametrize("strided", [True, False])
def test_convolutions_are_counted_call_by_call(*, strided: bool) -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000)
    last, first = [802_816, 1, 14_336, 256], [802_816, 3_136, 56, 1]
    for place, strides in enumerate((last, last, first, last)):
        stated = {"Input Strides": [strides, [2_304, 9, 3, 1]]} if strided else {}
        dims = {"Input Dims": [list(IMAGES), [256, 256, 3, 3]], "Input type": ["float", "float"]}
        builder.op("aten::convolution", place * 100, 90, **dims, **stated)
        builder.launch(place * 100 + 10, kernel_start=place * 100 + 20, kernel_dur=60, op=None)
    found = of_convolutions(Facts(builder.trace()))
    assert (found is not None) is strided
    if found is not None:
        assert (found.inputs_ratio, found.weights_ratio) == (0.75, 0.0)
