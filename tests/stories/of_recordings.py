"""Stories of how training was recorded: by ranges of one's own, in part, with all that can be; before the tool was asked."""

from __future__ import annotations

from building.builders import CUDA_DEVICE
from building.clocked import Clocked
from stories import devices
from stories.models import (
    ADD,
    CONV_32,
    NVJET,
    RANKS,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import Story

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
RECORD_FUNCTION = "https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html"
PROFILER = "https://docs.pytorch.org/docs/stable/profiler.html"


def _named_parts() -> Clocked:
    """A loop with ranges of its own around data, forward, backward and step: its own reader of files takes half of it."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("data"):
            world.idle(21_000)
            world.copied("HtoD", 6 << 20)
        with world.inside("forward"):
            layers(world, 4)
        with world.inside("backward"):
            layers_back(world, 4)
        with world.inside("step"):
            for _ in range(6):
                world.kernel_of("aten::_foreach_add_", ADD, 200, host=60)
        world.read_value()
    return world


def _middle_of_a_step() -> Clocked:
    """Recorded from the middle of a backward pass to the middle of the next forward pass: one update, and no whole step."""
    world = Clocked(marks=False)
    layers_back(world, 6)
    update(world)
    world.read_value()
    world.load(46_000, workers=4)
    layers(world, 4)
    return world


def _all_recorded() -> Clocked:
    """Stacks, shapes and memory recorded of a small network: Python's calls are recorded by thousands, and slow it down."""
    world = Clocked(top={"with_stack": 1, "record_shapes": 1, "profile_memory": 1})
    for _ in world.steps(4):
        for _ in range(40):
            begin = world.now
            for depth in range(60):
                world.python(
                    f"torch/nn/modules/module.py({1500 + depth}): _call_impl", begin + depth * 2, 300 - depth * 4
                )
            world.now += 120
            world.kernel_of("aten::linear/aten::addmm", NVJET, 20, host=60)
            world.now += 120
        update(world, dur=60)
    return world


def _halves_of_a_model() -> Clocked:
    """A model over two GPUs by hand, trained: each waits while the other computes, forward and backward."""
    world = Clocked()
    world.top["deviceProperties"] = [dict(CUDA_DEVICE), {**CUDA_DEVICE, "id": 1}]
    for _ in world.steps(4):
        world.load(80, workers=4)
        for device in (0, 1):
            for _ in range(24):
                world.kernel_of("aten::linear/aten::mm", NVJET, 400, device=device)
                world.kernel_of("aten::gelu", ADD, 40, device=device)
        with world.backward():
            for device in (1, 0):
                for _ in range(24):
                    with world.node("MmBackward0"):
                        world.kernel_of("aten::mm", NVJET, 400, device=device)
                        world.kernel_of("aten::mm", NVJET, 400, device=device)
        for device in (0, 1):
            begin = world.now
            world.kernel_of("aten::_fused_adamw_", ADD, 300, host=60, device=device)
            world.optimizer(begin, world.now - begin, "AdamW")
    return world


def _logged_now_and_then() -> Clocked:
    """Twelve iterations without marks, the loss read at each fifth: convolutions take it, the reads next to nothing."""
    world = Clocked(marks=False, top=devices.of(devices.A100))
    for number in range(12):
        world.load(110, workers=6)
        world.copied("HtoD", 4 << 20, pinned=True)
        blocks(world, 30, 1.2, conv=CONV_32)
        blocks_back(world, 30, 2.4, conv=CONV_32)
        update(world, "SGD", dur=300)
        if number % 5 == 0:
            world.read_value()
    return world


def _batches_in_an_epoch() -> Clocked:
    """Ranges `epoch 3` around all and `batch 17` inside: batches are steps, and small kernels bind them."""
    world = Clocked(marks=False)
    with world.inside("epoch 3"):
        for number in range(9):
            with world.inside(f"batch {17 + number}"):
                perceptron(world, 60, 4)
                perceptron_back(world, 60, 4)
                for _ in range(10):
                    world.kernel_of("aten::_foreach_add_", ADD, 6, host=40)
            world.idle(60)
    return world


def _compiled_at_first() -> Clocked:
    """Recorded from the start: the first of twelve steps compiles for seconds, the others compute; no steady state compiles."""
    world = Clocked()
    for number in world.steps(12):
        world.load(90, workers=4)
        if number == 0:
            with (
                world.inside("CompiledFxGraph.__call__"),
                world.stack(
                    "train.py(30): <module>",
                    "torch/_dynamo/convert_frame.py(1200): __call__",
                    "torch/_inductor/compile_fx.py(900): compile_fx",
                ),
            ):
                world.idle(2_600_000)
        with world.inside("Torch-Compiled Region: 0/0"):
            layers(world, 6)
        layers_back(world, 6)
        update(world)
    return world


def _wrapped_alone() -> Clocked:
    """DDP without marks or loader: its own range around each forward pass is all there is; reductions are hidden."""
    world = Clocked(marks=False, top=RANKS)
    for _ in range(7):
        world.copied("HtoD", 1 << 20, pinned=True)
        with world.inside("DistributedDataParallel.forward"):
            layers(world, 8)
        with world.backward():
            for index in range(8):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                if index % 2:
                    world.collective(
                        "allreduce", 900, kernel=REDUCE, stream=21, after=world.busy_until[7], dtype="Float", size=8
                    )
        world.busy_until[7] = max(world.busy_until[7], world.busy_until[21])
        for _ in range(4):
            world.kernel_of("aten::_foreach_add_", ADD, 300, host=60)
    return world


STORIES = (
    Story(
        "parts of a loop by their names", "ranges of one's own", RECORD_FUNCTION,
        "what the loop's `data` does takes half, and the device waits: beside it, in workers", _named_parts,
        bound=("python", "mixed"), told=("PY001", "~`data`|inside data", "~forward \\+ backward|data \\+ forward|annotation"),
        never=("GR004", "PR001", "~request", "~the whole trace is taken"),
    ),
    Story(
        "from the middle of a step", "no whole step", PROFILER,
        "the wait for data is seen once: nobody knows whether each step has it", _middle_of_a_step,
        told=("PG001|PG003",), never=("~each .{0,12}step", "~a step\\b(?! mark)", "GR004", "PR001"),
    ),
    Story(
        "all that can be recorded", "stacks, shapes, memory", PROFILER,
        "recording Python's calls takes a good part of it: without stacks for figures", _all_recorded,
        told=("PG004|PG010|~[Ss]tacks|with_stack",), never=("DL001", "PR001", "OP001"),
    ),
    Story(
        "halves of a model in turns", "model parallel by hand, two GPUs",
        "https://docs.pytorch.org/tutorials/intermediate/model_parallel_tutorial.html",
        "one GPU works at a time: a pipeline of micro-batches, or shards", _halves_of_a_model, bound=("queue", "mixed"),
        told=("~in turn|its turn|at a time|another device|other GPU|for another",),
        never=("GR004", "ID001", "PY001", "DL001", "PR001"),
    ),
    Story(
        "logged now and then", "vision, no marks", PROFILER, "convolutions take it, reads cost nothing", _logged_now_and_then,
        bound=("compute",), told=("~onvolutions", "~inferred from"), never=("SY001", "DL001", "GR004", "~request", "OP001"),
    ),
    Story(
        "batches of an epoch", "tabular, ranges of one's own", RECORD_FUNCTION,
        "batches are the steps; launches of small kernels bind them", _batches_in_an_epoch, bound=("launch",),
        told=("~inferred from annotation batch", "ID001|GR004"), never=("DL001", "PR001", "~request", "~the whole trace is taken"),
    ),
    Story(
        "compiled at first", "compiled, recorded from the start", "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html",
        "the first step compiles, the others compute: leave it out", _compiled_at_first, bound=("compute",),
        told=("~warm-up|compil",), never=("GR002", "DL001", "GR004", "PY001"),
    ),
    Story(
        "wrapped in DDP and nothing else", "LLM, DDP, no marks", "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "products take it, reductions are hidden", _wrapped_alone, bound=("compute",), told=("~matrix products",),
        never=("DL001", "GR004", "PR001", "CO001", "~request", "~inference_mode", "OP001"),
    ),
)  # fmt: skip
