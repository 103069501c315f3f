"""What the host computes on between a copy to it and one back, and the next batch behind the values of a step."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.clocked import Clocked
from rules.python.python_overhead import RULE
from rules.transfer.exposed_input_copies import RULE as EXPOSED
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged
from stories.models import NVJET, RELU

SIZE = 8 << 20


def world(
    *, returned: bool = True, loaded: bool = False, marks: bool = True, size: int = SIZE, gloo: bool = False
) -> Clocked:
    """Steps that copy out a tensor, work on the host for 40 ms, by gloo or otherwise, and send as much."""
    built = Clocked(marks=marks)
    for _ in built.steps(5):
        if not returned:
            built.copied("HtoD", size)
        for _ in range(10):
            built.kernel_of("aten::mm", NVJET, 900)
            built.kernel_of("aten::relu", RELU, 90)
        built.copied("DtoH", size)
        if gloo:
            built.event("gloo:all_reduce", "user_annotation", built.now, 40_000, tid=5_555)
        built.idle(40_000)
        if loaded:
            built.load(50, workers=4)
        if returned:
            built.copied("HtoD", size)
        for _ in range(10):
            built.kernel_of("aten::mm", NVJET, 900)
    return built


def test_what_comes_back_is_computed_on_the_device() -> None:
    found = Facts(world().trace()).transfer.through_host
    assert found.returned_bytes == 5 * SIZE
    assert abs(found.host.total_ns - 5 * 40e6) < 5 * 5e6
    finding = judged(RULE, world()).finding
    assert "cupy" in finding.fix[0].code
    assert not any("gymnasium" in fix.code for fix in finding.fix)
    sent = judged(PAGEABLE, world()).finding
    assert "comes back from the host" in sent.why
    assert not any("pin_memory=True" in fix.code for fix in sent.fix)


def test_the_next_batch_is_no_answer() -> None:
    for other in (world(returned=False), world(loaded=True), world(marks=False), world(size=4_096)):
        assert not Facts(other.trace()).transfer.through_host.returned_bytes
    assert not any("cupy" in fix.code for fix in judged(RULE, world(returned=False)).finding.fix)


@pytest.mark.parametrize(("gloo", "said"), [(True, "with NCCL they stay"), (False, "cupy")])
def test_what_comes_back_is_no_batch_of_images(gloo: bool, said: str) -> None:
    for rule in (EXPOSED, PAGEABLE):
        found = judged(rule, world(gloo=gloo, size=256 << 20)).finding
        assert said in found.fix[0].code
        assert not any("uint8" in fix.code for fix in found.fix)
    assert judged(EXPOSED, world(size=256 << 20)).finding.title == "Copies to the device delay the kernels"
    assert judged(EXPOSED, world(size=256 << 20, returned=False)).finding.title is None
