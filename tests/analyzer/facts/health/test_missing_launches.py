"""PG005 where launches were lost together with their kernels: what always launches, and here does not."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import AUTOGRAD, MAIN, TraceBuilder


def world(
    lost: int, *, name: str = "aten::mm", total: int = 40, thread: int = MAIN, device: str | None = "cuda"
) -> TraceBuilder:
    """Two steps of 10 ms with `total` ops in all, which launch a kernel each but for the first `lost`."""
    builder = TraceBuilder(device)
    for number in range(2):
        at = number * 10_000
        builder.step(number, at, 10_000)
        # Something that launches on the training thread, in every case.
        builder.launch(at + 9_000, kernel_start=at + 9_100, kernel_dur=50)
        for index in range(number * total // 2, (number + 1) * total // 2):
            begin = at + (index % (total // 2)) * 400
            builder.op(name, begin, 100, thread=thread)
            if index >= lost:
                builder.launch(begin + 10, kernel_start=begin + 60, kernel_dur=300, op=None, thread=thread)
    return builder


def found(builder: TraceBuilder) -> list[Symptom]:
    return [one for one in Facts(builder.trace()).health.symptoms if "launch nothing" in one.message]


@pytest.mark.parametrize("thread", [MAIN, AUTOGRAD])
def test_ops_that_always_launch_and_do_not(thread: int) -> None:
    (symptom,) = found(world(10, thread=thread))
    assert (symptom.code, symptom.gravity, symptom.count) == ("PG005", Gravity.CAUTION, 10)
    assert symptom.message.startswith("10 of 40 matrix products, convolutions and the like (25 %) launch nothing")


@pytest.mark.parametrize(("lost", "total"), [(3, 40), (18, 18)], ids=["below a tenth", "too few to say"])
def test_a_few_say_nothing(lost: int, total: int) -> None:
    assert not found(world(lost, total=total))
    assert found(world(4, total=40))
    assert found(world(20, total=20))


@pytest.mark.parametrize("name", ["aten::view", "aten::item", "aten::linear_"])
def test_ops_that_need_not_launch_are_not_asked(name: str) -> None:
    assert not found(world(40, name=name))


def test_nor_what_a_compiler_tries_out() -> None:
    builder = world(20)
    builder.annotation("compile_inner (dynamo_timed)", 0, 9_900)
    assert not found(builder)


def test_a_launch_on_another_thread_is_not_the_ops() -> None:
    builder = world(40, thread=AUTOGRAD)
    for index in range(20):
        builder.launch(index * 400 + 10, kernel_start=index * 400 + 60, kernel_dur=300, op=None)
    assert found(builder)
