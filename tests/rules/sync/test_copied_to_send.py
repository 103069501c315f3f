"""SY002 where ranks send what is copied: objects become tensors, tensors go by NCCL; other copies are outputs as before."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.sync.blocking_copy_out import RULE
from running.one_rule import judged
from stories.models import GATHER, RANKS, layers, layers_back, update

OUTPUTS, NUMBERS, NCCL = "outputs.append(out.detach())", "numbers = torch.stack", "cpu:gloo,cuda:nccl"


def _object(world: Clocked) -> None:
    """One object from each rank, as torch's `all_gather_object` reads it."""
    for op in ("aten::empty", "aten::set_"):
        world.host_op(op, 10)
    for elements in (1, 64_000):
        world.collective("allgather", 100, kernel=GATHER, after=world.busy_until[7], elements=elements, dtype="Byte")
        world.busy_until[7] = world.busy_until[20]
        world.host_op("aten::resize_", 5)
    world.copied("DtoH", 12_000_000)
    world.host_op("aten::resolve_neg", 5)
    world.host_op("aten::item", 5)


def job(what: str) -> Clocked:
    """Steps of a model that end in a copy to the host: of an object, of a sum that goes to gloo at once or later, or of outputs."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        layers(world, 6)
        layers_back(world, 6)
        if what == "object":
            _object(world)
        else:
            world.copied("DtoH", 12_000_000)
            if what == "sum":
                world.annotation("gloo:all_reduce", world.now + 20, 400, 5001)
                world.idle(500)
                world.copied("HtoD", 12_000_000)
        world.idle(800)
        update(world, dur=500)
        if what == "later":
            world.annotation("gloo:all_reduce", world.now - 100, 80, 5001)
    return world


@pytest.mark.parametrize(
    ("what", "told"), [("object", NUMBERS), ("sum", NCCL), ("later", OUTPUTS), ("outputs", OUTPUTS)]
)
def test_what_is_copied_to_be_sent_is_no_output(what: str, told: str) -> None:
    finding = judged(RULE, job(what)).finding
    codes = "\n".join(fix.code for fix in finding.fix)
    assert [one for one in (OUTPUTS, NUMBERS, NCCL) if one in codes] == [told], finding.why
    assert ("`all_gather_object` reads what ranks have sent" in finding.why) is (what == "object")
    assert ("which gloo sends right behind" in finding.why) is (what == "sum")
