"""Stories of habits that PyTorch's own guides warn of; beside each the same program without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import (
    ADD,
    NVJET,
    block,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import Story

MIB = 1 << 20
PINNING = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
HOOKS = "https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html"
PARALLEL = "https://docs.pytorch.org/tutorials/intermediate/model_parallel_tutorial.html"
AMP = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html"
OPTIM = "https://docs.pytorch.org/docs/stable/optim.html"
# One-hot, in single precision, for a batch of 256.
TARGETS = 256 * 21_841 * 4


def _sent(world: Clocked, size: int, *, waits: bool, pinned: bool = True) -> None:
    """A tensor goes to the device, and `.to()` without `non_blocking` waits for the stream until it is there."""
    if not waits:
        world.copied("HtoD", size, pinned=True, rate=20_000)
        return
    begin = world.now
    start = max(begin + 9, world.busy_until.get(7, 0) + 1)
    end = start + size / 20_000
    for depth, op in enumerate(("aten::to", "aten::_to_copy", "aten::copy_")):
        world.op(op, begin + depth, end - begin + 9 - 2 * depth)
    world.copy("HtoD", begin + 3, 5, start=start, dur=end - start, size=size, op=None, pinned=pinned)
    world.runtime("cudaStreamSynchronize", begin + 9, end - begin - 5)
    world.busy_until[7], world.now = end, end + 11


def _batches(waits: bool) -> Clocked:
    """Pinned batches for short layers: behind the wait for each the queue is empty."""
    world = Clocked(top=of(A100))
    for _ in world.steps(8):
        world.load(60, workers=4)
        _sent(world, 4 * MIB, waits=waits)
        layers(world, 8, 0.05)
        layers_back(world, 8, 0.1)
        update(world, dur=400)
    return world


def _constants(sent: bool) -> Clocked:
    """A constant is sent to the device in front of each block of convolutions."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", MIB, pinned=True)
        for _ in range(24):
            block(world, 0.5)
            if sent:
                _sent(world, 4_096, waits=True, pinned=False)
        blocks_back(world, 24)
        update(world, "SGD", dur=100)
    return world


def _one_hot(on_host: bool) -> Clocked:
    """Targets of 21,841 classes are made one-hot on the host beside larger pinned batches, or on the device."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", 38 * MIB, pinned=True, rate=20_000)
        if on_host:
            world.host_op("aten::scatter_", 9_000)
            world.copied("HtoD", TARGETS)
        else:
            world.kernel_of("aten::scatter_", "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)", 40)
        layers(world, 24, 0.4)
        layers_back(world, 24, 0.8)
        update(world, dur=300)
    return world


def _noise(on_host: bool) -> Clocked:
    """A mask of dropout is drawn for each layer by the host, and sent, or by the device."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", MIB, pinned=True)
        for _ in range(12):
            layer(world, 0.1)
            if on_host:
                world.host_op("aten::bernoulli/aten::bernoulli_", 1_500)
                world.copied("HtoD", 4 * MIB)
            world.kernel_of("aten::mul", ADD, 20)
        layers_back(world, 12, 0.2)
        update(world, dur=400)
    return world


def _average(one_by_one: bool) -> Clocked:
    """An average of 160 weights, by two small kernels each behind a full queue, or in one pass."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        layers(world, 6, 0.2)
        layers_back(world, 6, 0.4)
        update(world, dur=400)
        for op in ("mul_", "add_") * (160 if one_by_one else 0):
            world.kernel_of(f"aten::{op}", ADD, 4, host=14)
        if not one_by_one:
            world.kernel_of("aten::_foreach_lerp_", ADD, 300, host=200)
    return world


def _activations(pinned: bool) -> Clocked:
    """`save_on_cpu` around a decoder: what each layer keeps goes to the host and comes back, in calls that wait."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        world.load(60, workers=4)
        world.copied("HtoD", MIB, pinned=True)
        for _ in range(12):
            layer(world)
            world.copied("DtoH", 48 * MIB, pinned=pinned, blocks=True)
        with world.backward():
            for _ in range(12):
                with world.node("MmBackward0"):
                    world.copied("HtoD", 48 * MIB, pinned=pinned, blocks=True)
                    layer(world, 2, backward=True)
        update(world)
    return world


def _two_devices(in_turn: bool) -> Clocked:
    """Halves of a model on two devices, each behind an event of the other one; or one that has twice as much to do."""
    world = Clocked(top={"deviceProperties": [{**A100, "id": device} for device in (0, 1)]})
    for _ in world.steps(5):
        world.load(60, workers=4)
        end = [0.0, 0.0]
        for device in (0, 1, 1, 0):
            world.runtime("cudaStreamWaitEvent", world.now, 2)
            world.now += 3
            after = max(end) if in_turn else end[device] if device else 0
            number, dur = (20, 500) if in_turn or device == 0 else (10, 2_000)
            for _ in range(number):
                end[device] = world.kernel_of(
                    "aten::linear/aten::mm", NVJET, dur, stream=7 + device, device=device, after=after
                )
        world.runtime("cudaStreamWaitEvent", world.now, 2)
        world.now += 3
        world.kernel_of("aten::add", ADD, 20, after=max(end))
        world.synchronize()
    return world


def _overflow(scaled: bool) -> Clocked:
    """GradScaler looks whether a gradient overflowed, behind a full queue: a read a step that the device does not notice."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        perceptron(world, 60, 40)
        perceptron_back(world, 60, 40)
        if scaled:
            world.kernel_of("aten::_amp_foreach_non_finite_check_and_unscale_", ADD, 30, host=60)
            world.read_value()
        update(world, "SGD", dur=200)
    return world


STORIES = (
    Story(
        "pinned batches awaited", "decoder, short layers", PINNING,
        "`pin_memory` without `non_blocking=True`: the host waits for each batch, and the queue is empty behind it",
        partial(_batches, True), bound=("compute",), told=("XF007", "~non_blocking=True"), never=("DL001", "XF001", "GR004"),
    ),
    Story(
        "pinned batches sent ahead", "decoder, short layers", PINNING, "the same with `non_blocking=True`",
        partial(_batches, False), bound=("compute",), never=("XF007", "XF001", "DL001", "SY003"),
    ),
    Story(
        "constants sent in each pass", "vision", TUNING, "a small tensor is sent in front of each block: make it once",
        partial(_constants, True), bound=("compute",), told=("XF003", "~once|pin_memory"), never=("DL001", "SY001"),
    ),
    Story(
        "constants on the device", "vision", TUNING, "the same, made once",
        partial(_constants, False), bound=("compute",), never=("XF003", "XF001", "DL001"),
    ),
    Story(
        "targets made one-hot on the host", "vision, ImageNet-21k", TUNING, "21 MiB of zeros are filled and sent: make them there",
        partial(_one_hot, True), told=("~aten::scatter_",), never=("DL001", "~pin_memory=True,\n \\)"),
    ),
    Story(
        "targets made one-hot on the device", "vision, ImageNet-21k", TUNING, "the same on the device",
        partial(_one_hot, False), bound=("compute",), never=("XF001", "DL001", "ID001"),
    ),
    Story(
        "masks drawn on the host", "decoder", TUNING, "a mask is drawn and sent for each layer: draw it on the device",
        partial(_noise, True), bound=("launch",), told=("ID001", "~aten::bernoulli"), never=("~cpu_offload", "DL001"),
    ),
    Story(
        "masks drawn on the device", "decoder", TUNING, "the same on the device",
        partial(_noise, False), bound=("compute",), never=("XF001", "XF002", "ID001"),
    ),
    Story(
        "average of weights, one by one, queued", "decoder, EMA", OPTIM,
        "320 small kernels: `torch._foreach_lerp_`, or `AveragedModel` with a `multi_avg_fn`",
        partial(_average, True), bound=("compute",), told=("PY003", "~_foreach_lerp_"), never=("ID001", "GR004"),
    ),
    Story(
        "average of weights in one pass", "decoder, EMA", OPTIM,
        "the same by `torch._foreach_lerp_`", partial(_average, False), bound=("compute",), never=("PY003", "OP001", "ID001"),
    ),
    Story(
        "activations saved unpinned", "decoder, save_on_cpu", HOOKS,
        "both ways through pageable memory: `pin_memory=True`, or compute them again", partial(_activations, False),
        bound=("copy", "sync", "mixed"), told=("~save_on_cpu\\(pin_memory=True", "~checkpoint"), never=("~iter\\(loader", "DL001"),
    ),
    Story(
        "activations saved in pinned memory", "decoder, save_on_cpu", HOOKS,
        "copies take turns with layers: on streams of their own they hide", partial(_activations, True),
        bound=("copy", "sync", "mixed"), told=("~use_streams=True",), never=("~iter\\(loader", "~\\+with .*pin_mem", "DL001"),
    ),
    Story(
        "halves of a model behind events", "two GPUs", PARALLEL,
        "one GPU works at a time: split batches in flight, or one GPU", partial(_two_devices, True),
        bound=("queue",), told=("ID002", "~in turn", "~its turn"), never=("ID001", "DL001"),
    ),
    Story(
        "one device with more to do", "two GPUs", PARALLEL,
        "both work at once, and one waits for the other at the end: even them out", partial(_two_devices, False),
        bound=("queue",), told=("~has more to do",), never=("~its turn", "~in turn:", "DL001"),
    ),
    Story(
        "overflow looked for behind a full queue", "AMP with GradScaler", AMP,
        "the scaler reads one value a step, which costs a busy GPU nothing", partial(_overflow, True),
        bound=("compute",), never=("SY001", "ID001", "DL001"),
    ),
    Story(
        "no overflow looked for", "bfloat16", AMP,
        "the same without a scaler", partial(_overflow, False), bound=("compute",), never=("SY001", "ID001", "DL001"),
    ),
)  # fmt: skip
