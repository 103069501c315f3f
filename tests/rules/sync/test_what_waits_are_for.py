"""What waits are for: copies that the host uses, an update of others, counters of torch's own, a scaler."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.clocked import Clocked
from programs.updating import scaled, sent_home
from rules.sync.explicit_synchronize import RULE as SY003
from rules.sync.scalar_read import RULE as SY001
from running.one_rule import judged, run
from stories.models import ADD, FOREACH, layers, layers_back


def test_a_wait_for_copies_is_to_come_later_not_to_go() -> None:
    fix = judged(SY003, sent_home(copies=True)).finding.fix
    assert "copied.record()" in fix[0].code
    assert not any(one.note.startswith("Delete it") for one in fix)
    assert judged(SY003, sent_home(copies=False)).finding.fix[0].note.startswith("Delete it")


def test_an_update_on_the_cpu_needs_its_gradients() -> None:
    assert run(SY003, sent_home(copies=True, on_host=True)).state is State.CLEAR
    assert run(SY003, sent_home(copies=False, on_host=True)).state is State.FIRED


@pytest.mark.parametrize("inside", [True, False])
def test_waits_inside_an_update_belong_to_its_library(inside: bool) -> None:
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 4)
        layers_back(world, 4)
        begin = world.now
        if not inside:
            world.optimizer(begin, 5, "AdamW8bit")
        for _ in range(60):
            world.idle(40)
            world.kernel_of(None, "void kOptimizerStatic8bit1StateBlockwise<float, 1, 256, 1>(p)", 30)
            world.synchronize()
        if inside:
            world.optimizer(begin, world.now - begin, "AdamW8bit")
    found = judged(SY003, world).finding
    assert ("inside `AdamW8bit.step`" in found.why) is inside
    assert found.fix[0].note.startswith("Delete it") is not inside


@pytest.mark.parametrize(("name", "told"), [("AdamW", True), ("Prodigy", False)])
def test_reads_of_torchs_own_update_are_its_counters(name: str, told: bool) -> None:
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 4, 0.5)
        layers_back(world, 4, 1.0)
        begin = world.now
        for _ in range(200):
            world.read_value()
            world.idle(3)
        for op in ("mul_", "lerp_", "addcmul_", "addcdiv_"):
            world.kernel_of(f"aten::_foreach_{op}", FOREACH, 120, host=200)
        world.optimizer(begin, world.now - begin, name)
    found = judged(SY001, world).finding
    assert f"inside `{name}.step`" in found.why
    assert ('if name != "step"' in found.fix[0].code) is told
    assert not any("total_loss" in one.code for one in found.fix)


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("aten::fake_quantize_per_tensor_affine", "right before `aten::fake_quantize_per_tensor_affine`"),
        ("aten::mul", ""),
    ],
)
def test_reads_are_placed_by_the_op_beside_them(op: str, said: str) -> None:
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(20):
            world.kernel_of("aten::add", ADD, 40)
            world.read_value()
            world.read_value()
            world.kernel_of(op, ADD, 40)
    why = judged(SY001, world).finding.why
    assert said in why
    assert ("right before" in why) is bool(said)


@pytest.mark.parametrize(("fused", "state"), [(False, State.FIRED), (True, State.NOT_APPLICABLE)])
def test_a_scalers_read_counts_where_a_fused_update_would_do_without(fused: bool, state: State) -> None:
    assert run(SY001, scaled(fused=fused)).state is state
    if not fused:
        assert "fused=True" in judged(SY001, scaled(fused=False)).finding.fix[0].code
