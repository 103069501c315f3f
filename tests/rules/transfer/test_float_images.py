"""XF006: 32 float images of 3 x 224 x 224 travel in each 100 ms step and delay the kernels by 8 ms."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.transfer.float_images import RULE
from running.one_rule import judged, run

IMAGES = [32, 3, 224, 224]
SIZE = 32 * 3 * 224 * 224 * 4


def world(
    *,
    dims: list[int] = IMAGES,
    kind: str = "float",
    dur: float = 8_000,
    shapes: bool = True,
    converting: bool = False,
    size: int = SIZE,
) -> TraceBuilder:
    """Four steps: maybe a loader that converts, a copy, then a kernel."""
    builder = TraceBuilder(top={"record_shapes": 1} if shapes else None)
    given = {"Input Dims": [dims, dims], "Input type": [kind, kind]} if shapes else {}
    for number in range(4):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 900)
        for index in range(8 if converting else 0):
            for place, name in enumerate(("aten::permute", "aten::contiguous", "aten::div")):
                builder.op(name, at + index * 100 + place * 30, 20)
        begin = at + 1_000
        builder.op("aten::copy_", begin, 20, **given)
        builder.copy("HtoD", begin + 5, 10, start=begin + 20, dur=dur, size=size, pinned=True, op=None)
        end = begin + 20 + dur
        builder.launch(begin + 30, kernel_start=end, kernel_dur=at + 100_000 - end)
    return builder


def test_fires_with_three_quarters_of_the_copies() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(6_000_000, rel=0.02)
    assert found.confidence is Confidence.MEDIUM
    assert "18 MiB of images a step travel as 32-bit floats; as bytes they would be 4.6 MiB" in found.finding.why


def test_surer_where_the_loader_is_seen_converting() -> None:
    assert judged(RULE, world(converting=True)).confidence is Confidence.HIGH
    assert judged(RULE, world(converting=True, shapes=False)).confidence is Confidence.HIGH


@pytest.mark.parametrize("dims", [0.5, None, True, "x", {"a": 1}])
def test_shapes_that_are_none_are_no_images(dims: object) -> None:
    builder = world()
    for event in builder.events:
        if "Input Dims" in event.get("args", {}):
            event["args"]["Input Dims"] = dims
    assert run(RULE, builder).state is not State.FIRED


@pytest.mark.parametrize("dims", [[32, 150_528], [32, 7, 224, 96]])
def test_quiet_when_these_are_no_images(dims: list[int]) -> None:
    size = 4
    for side in dims:
        size *= side
    assert run(RULE, world(dims=dims, size=size)).state is State.CLEAR


def test_quiet_when_they_are_bytes_already() -> None:
    assert run(RULE, world(kind="unsigned char")).state is State.CLEAR


@pytest.mark.parametrize(("dur", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur)).state is state


def test_cannot_tell_without_shapes() -> None:
    result = run(RULE, world(shapes=False))
    assert result.state is State.CANNOT_TELL
    assert "record_shapes=True" in result.reason


def test_not_applicable_without_copies() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
