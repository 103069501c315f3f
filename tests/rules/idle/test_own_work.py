"""ID001: what an op works on while the device idles decides what is advised."""

from __future__ import annotations

from analyzer.finding import Finding
from building.clocked import Clocked
from rules.idle.launch_bound import RULE
from running.one_rule import judged
from stories.models import ADD, NVJET


def told(name: str, *, device: str = "cuda") -> Finding:
    """What is told where one op keeps the host for 8 ms in each of six steps."""
    world = Clocked(device)
    for _ in world.steps(6):
        world.host_op(name, 8_000)
        for _ in range(40):
            world.kernel_of("aten::mm", NVJET, 60)
            world.kernel_of("aten::add", ADD, 10)
        world.synchronize()
    return judged(RULE, world).finding


def text(finding: Finding) -> str:
    return "\n".join(f"{fix.code}\n{fix.note}" for fix in finding.fix)


def test_guards_are_made_fewer() -> None:
    said = text(told("TorchDynamo Cache Lookup"))
    assert "layer.compile()" in said
    assert "guard_filter_fn" in said
    assert "workers of the loader" not in said


def test_convolutions_choose_kernels() -> None:
    said = text(told("aten::miopen_convolution", device="rocm"))
    assert "MIOPEN_FIND_MODE=FAST" in said
    assert "sizes" in said
    assert "MIOpen" not in text(told("aten::cudnn_convolution"))
    assert "lie on the GPU" not in said


def test_other_ops_are_moved() -> None:
    said = text(told("aten::random_"))
    assert "on tensors that lie on the GPU" in said
    assert "guard" not in said
