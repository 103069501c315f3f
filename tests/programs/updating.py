"""What follows the backward pass, in worlds that have a property and worlds that lack it: for tests and the confusion table."""

from __future__ import annotations

from building.builders import AUTOGRAD, MAIN, TraceBuilder
from building.clocked import Clocked
from stories.models import ADD, AMPERE, FOREACH, blocks, blocks_back, layers, layers_back, update, update_foreach

TURN = 2_000
_BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def groups(*, nodes: bool = True, between: bool = False, inside: bool = False) -> TraceBuilder:
    """Five turns of a loop with three optimizers of one class.

    Args:
        nodes: Whether nodes of the backward pass are recorded.
        between: Whether there are some before each optimizer's step, not only before the first.
        inside: Whether the steps are taken by hooks of the backward pass, inside its nodes.
    """
    builder = TraceBuilder()
    for turn in range(5):
        at = turn * TURN
        for index in range(5):
            start = at + 100 + index * 100
            builder.launch(start, kernel_start=start + 10, kernel_dur=90)
        for index in range(3):
            start = at + 800 + index * 300
            if nodes and (index == 0 or between or inside):
                name = "autograd::engine::evaluate_function: AddBackward0"
                builder.op(name, start, 250 if inside else 50, thread=MAIN if inside else AUTOGRAD)
            builder.optimizer(start + 100, 100)
    return builder


def sent_home(*, copies: bool, on_host: bool = False) -> Clocked:
    """The program waits for the stream behind the backward pass.

    Args:
        copies: Whether gradients are copied to pinned memory before.
        on_host: Whether the update is made on the CPU then.
    """
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 4)
        layers_back(world, 4)
        if copies:
            world.copied("DtoH", 24 << 20, pinned=True)
        world.synchronize("cudaStreamSynchronize")
        begin = world.now
        for _ in range(6):
            if on_host:
                world.host_op("aten::add_", 2_000)
            else:
                world.kernel_of("aten::add_", ADD, 30, host=500)
        world.optimizer(begin, world.now - begin, "Adam")
    return world


def scaled(*, fused: bool) -> Clocked:
    """GradScaler's flag is read in front of an update by passes; a fused one takes it on the device."""
    world = Clocked()
    for _ in world.steps(6):
        world.idle(300)
        blocks(world, 20, 0.6)
        blocks_back(world, 20, 1.2)
        world.kernel_of("aten::_amp_foreach_non_finite_check_and_unscale_", FOREACH, 30, host=40)
        if fused:
            update(world, dur=300)
        else:
            world.read_value()
            world.idle(500)
            update_foreach(world, passes=10, dur=300)
    return world


def in_update(*, products: bool = False, updating: bool = True) -> Clocked:
    """Five steps of a network that fills the device, and 1,500 tiny kernels: an update's, or the forward pass's.

    Args:
        products: Whether the update multiplies matrices.
        updating: Whether the kernels are the update's.
    """
    program = Clocked()
    for _ in program.steps(5):
        if not updating:
            for _ in range(1_500):
                program.kernel_of("aten::add", ADD, 2)
        blocks(program, 20)
        blocks_back(program, 20)
        begin = program.now
        for _ in range(1_500 if updating else 10):
            if products:
                program.kernel_of("aten::matmul/aten::mm", AMPERE, 3)
            program.kernel_of("aten::add_", ADD, 2)
            program.kernel_of("aten::mul", ADD, 2)
        program.optimizer(begin, program.now - begin, "MuSGD")
    return program


def kept_alike(buffers: float, *, sums: float) -> Clocked:
    """Four steps of DistributedDataParallel.

    Args:
        buffers: How long the buffers' broadcast takes in front of each forward pass, in microseconds; 0 without one.
        sums: How long the sum of the gradients takes behind each backward pass.
    """
    program = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4}})
    for _ in program.steps(4):
        with program.inside("DistributedDataParallel.forward"):
            if buffers:
                with program.within("aten::flatten_dense_tensors"):
                    program.kernel_of("aten::cat", ADD, 6, host=30)
                program.busy_until[7] = program.collective(
                    "broadcast", buffers, kernel=_BROADCAST, after=program.busy_until[7], elements=53_120, dtype="Float"
                )
            blocks(program, 30)
        blocks_back(program, 30)
        program.busy_until[7] = program.collective("allreduce", sums, kernel=_REDUCE, after=program.busy_until[7])
    return program
