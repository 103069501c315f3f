"""ID001: what an op works on while the device idles decides what is advised."""

from __future__ import annotations

import re

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


def test_casts_are_left_to_the_device_and_the_function_that_makes_them_is_named() -> None:
    """15 ms a frame for `torch.from_numpy(frame).float()`, with stacks."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.stack("eval.py(700): evaluate", "eval.py(640): prepare"):
            world.host_op("aten::to/aten::_to_copy/aten::copy_", 15_000)
            world.copied("HtoD", 24_000_000)
        for _ in range(40):
            world.kernel_of("aten::mm", NVJET, 60)
        world.copied("DtoH", 4_000)
    found = judged(RULE, world).finding
    assert "`prepare`" in found.why
    assert ".to(device).float()" in found.fix[0].code
    assert ".to(device).float()" not in text(told("aten::random_"))


def shared(*ops: tuple[str, float, int], device: str = "cuda") -> Finding:
    """What is told where each of several ops keeps the host for so long, so often, in each of six steps."""
    world = Clocked(device)
    for _ in world.steps(6):
        for name, dur, calls in ops:
            for _ in range(calls):
                world.host_op(name, dur)
        for _ in range(40):
            world.kernel_of("aten::mm", NVJET, 60)
            world.kernel_of("aten::add", ADD, 10)
        world.synchronize()
    return judged(RULE, world).finding


def test_two_ops_that_share_the_time_are_both_named_and_advised_about() -> None:
    """Whichever is a little longer by chance: one of them owns a little more than half."""
    for first, second in ((8_500, 7_500), (7_500, 8_500)):
        found = shared(("aten::random_", first, 1), ("aten::bincount", second, 1))
        assert "inside `aten::random_`, 1 call a step of " in found.why
        assert "inside `aten::bincount`, 1 call a step of " in found.why
        assert "`aten::random_`" in text(found)
        assert "`aten::bincount`" in text(found)
        assert "reduce-overhead" not in text(found)


def test_an_op_with_next_to_none_of_the_time_is_not_named_beside_another() -> None:
    found = shared(("aten::random_", 8_000, 1), ("aten::bincount", 500, 1))
    assert "`aten::random_`" in found.why
    assert "aten::bincount" not in found.why + text(found)


def test_ops_of_several_kinds_each_have_their_advice() -> None:
    said = text(shared(("TorchDynamo Cache Lookup", 8_000, 1), ("aten::to/aten::_to_copy/aten::copy_", 7_000, 1)))
    assert "layer.compile()" in said
    assert ".to(device).float()" in said
    assert "Take the work of `aten::copy_` off" in said
    assert "`TorchDynamo Cache Lookup`" not in said


def of_calls(op: str, *, launched: bool, dur: float = 8_000, in_launch: bool = False, device: str = "cuda") -> Finding:
    """What is told where an op keeps the host for long in each of six steps: in the launch that it makes, before it, or without."""
    world = Clocked(device)
    for _ in world.steps(6):
        with world.within(op):
            if not in_launch:
                world.idle(dur)
            if launched:
                world.kernel_of(None, NVJET, 60, call=dur if in_launch else 4)
        for _ in range(40):
            world.kernel_of("aten::add", ADD, 60)
        world.synchronize()
    return judged(RULE, world).finding


def test_products_that_launch_look_for_their_kernels() -> None:
    said = text(of_calls("aten::addmm", launched=True, device="rocm"))
    assert "hipBLASLt" in said
    assert "preferred_blas_library" in said
    assert "lie on the GPU" not in said
    assert "workers of the loader" not in said
    assert "hipBLASLt" not in text(of_calls("aten::addmm", launched=True))


def test_a_product_that_launches_nothing_is_computed_on_the_host() -> None:
    said = text(of_calls("aten::addmm", launched=False))
    assert "on tensors that lie on the GPU" in said
    assert "preferred_blas_library" not in said


def test_a_thread_stands_still_in_an_op_that_computes_nothing() -> None:
    said = text(of_calls("aten::empty", launched=False))
    assert "`aten::empty` computes nothing" in said
    assert "the trace does not tell" in said
    assert "lie on the GPU" not in said
    # What fills or draws works on the host.
    assert "computes nothing" not in text(of_calls("aten::random_", launched=False))


def test_a_launch_that_takes_long_itself_is_the_driver_and_no_work_of_the_op() -> None:
    found = of_calls("Torch-Compiled Region: 0/0", launched=True, in_launch=True)
    assert "most of it in `cudaLaunchKernel` itself" in found.why
    assert "own work" not in found.why
    assert "the driver's work" in text(found)
    assert "lie on the GPU" not in text(found)
    before = of_calls("Torch-Compiled Region: 0/0", launched=True)
    assert "itself" not in before.why
    assert "own work on the host" in before.why


def test_how_long_a_call_lasts_is_told_and_not_for_how_long_the_device_idles_in_it() -> None:
    """In half of each call the device still works on what was queued."""
    world = Clocked()
    for _ in world.steps(6):
        for _ in range(20):
            world.kernel_of("aten::mm", NVJET, 200)
        with world.within("aten::random_"):
            world.idle(8_000)
        world.synchronize()
    found = judged(RULE, world).finding
    assert re.search(r"1 call a step of (?:7|8)\.\d ms", found.why), found.why
