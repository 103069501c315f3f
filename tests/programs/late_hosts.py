"""Programs whose host does something beside a busy device, and runs the device dry afterwards: with that work, and without.

A cost that lies beside a busy device makes the host late, and what it dispatches next late as well. What the step is shorter by
without the work is therefore more than what the device idles in it.
"""

from __future__ import annotations

from collections.abc import Callable

from building.clocked import Clocked

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"
_SMALL = "vectorized_elementwise_kernel<4, float>"
_NAMES = ("aten::add", "aten::mul", "aten::relu", "aten::addmm", "aten::native_layer_norm")


def _dispatched(world: Clocked, number: int) -> None:
    """Small kernels that each wait for their launch, 33 us of the host for 6 us of the device."""
    for index in range(number):
        world.kernel_of(_NAMES[index % 5], _SMALL, 6, host=33)


def loading(*, slow: bool, waits: bool = False) -> Clocked:
    """A batch takes 4 ms, of which the device computes 3; then it waits for launches. Or the host waits for the device before."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(4_000 if slow else 20)
        if waits:
            world.synchronize()
        _dispatched(world, 120)
        world.kernel_of("aten::mm", GEMM, 3_000)
    return world


def allocating(*, slow: bool) -> Clocked:
    """Twenty calls of the allocator, most of them beside a busy device."""
    world = Clocked()
    for _ in world.steps(6):
        for _ in range(20):
            if slow:
                world.runtime("cudaMalloc", world.now, 150)
                world.now += 150
            _dispatched(world, 5)
        world.kernel_of("aten::mm", GEMM, 2_500)
    return world


def thinking(*, slow: bool) -> Clocked:
    """Twice 3 ms of the program's own code, once beside a busy device."""
    world = Clocked()
    for _ in world.steps(6):
        _dispatched(world, 100)
        for _ in range(2):
            if slow:
                world.idle(3_000)
            world.kernel_of("aten::mm", GEMM, 2_500)
    return world


def sending(*, slow: bool) -> Clocked:
    """Sixty small tensors sent one by one beside a busy device, or one large one."""
    world = Clocked()
    for _ in world.steps(6):
        _dispatched(world, 20)
        world.kernel_of("aten::mm", GEMM, 3_000)
        for _ in range(60 if slow else 1):
            world.copied("HtoD", 4_000 if slow else 240_000)
        _dispatched(world, 100)
    return world


def updating(*, slow: bool) -> Clocked:
    """Sixty parameters updated with five ops each, or with eight ops for all."""
    world = Clocked()
    for _ in world.steps(6):
        _dispatched(world, 50)
        world.kernel_of("aten::mm", GEMM, 4_000)
        with world.inside("Optimizer.step#Adam.step"):
            for index in range(300 if slow else 8):
                op = ("mul_", "add_", "addcmul_", "sqrt", "addcdiv_")[index % 5] if slow else "_foreach_add_"
                world.kernel_of(f"aten::{op}", _SMALL, 4 if slow else 40, host=25 if slow else 60)
    return world


def going_through(*, slow: bool) -> Clocked:
    """A loop over a hundred elements whose kernels keep the device busy; or the same ops on the whole tensor."""
    world = Clocked()
    for _ in world.steps(6):
        world.kernel_of("aten::mm", GEMM, 2_000)
        for _ in range(100 if slow else 1):
            for op in ("aten::select", "aten::sub", "aten::add"):
                world.kernel_of(op, _SMALL, 8, host=14)
        world.kernel_of("aten::mm", GEMM, 1_000)
        world.read_value()
    return world


# By what is late: the rule that names it, and its program.
LATE: dict[str, tuple[str, Callable[..., Clocked]]] = {
    "a batch": ("DL001", loading),
    "the allocator": ("ME001", allocating),
    "the program's own code": ("PY001", thinking),
    "small copies": ("XF003", sending),
    "an update": ("OP001", updating),
    "a loop over elements": ("PY002", going_through),
}
