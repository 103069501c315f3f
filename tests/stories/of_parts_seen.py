"""Stories in which a part is what matters: the device's side alone recorded, one tower's attention, a few numbers that are sent."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import (
    ADD,
    AMPERE,
    CONV_BACK,
    FLASH,
    FLASH_BACK,
    NVJET,
    RANKS,
    SDPA,
    blocks,
    layer,
    layers,
    layers_back,
    update,
)
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(p)"
SOFTMAX_BACK = "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float>(p)"


def _device_alone(dur: float) -> Clocked:
    """activities=[ProfilerActivity.CUDA]: launches and kernels, no op; the host takes 25 us from one launch to the next."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(6):
        for _ in range(200):
            world.kernel_of(None, AMPERE, dur, call=5)
            world.idle(20)
    return world


def _engine_alone(idle: float) -> Clocked:
    """An engine in C++: its passes are graphs, and no op of torch's is around them."""
    world = Clocked(marks=False)
    for _ in range(20):
        world.graph([(NVJET, 20.0)] * 100)
        world.copied("DtoH", 512, pinned=True, path=None)
        world.synchronize("cudaEventSynchronize")
        world.idle(idle)
    return world


def _attention(world: Clocked, *, fused: bool) -> None:
    if fused:
        world.kernel_of(SDPA, FLASH, 200, host=30)
        return
    world.kernel_of("aten::matmul/aten::bmm", AMPERE, 150)
    world.kernel_of("aten::add", ADD, 120)
    world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 260)
    world.kernel_of("aten::matmul/aten::bmm", AMPERE, 150)


def _attention_back(world: Clocked, *, fused: bool) -> None:
    if fused:
        with world.node("ScaledDotProductFlashAttentionBackward0"):
            world.kernel_of("aten::_scaled_dot_product_flash_attention_backward", FLASH_BACK, 400, host=30)
        return
    for node in ("BmmBackward0", "SoftmaxBackward0", "BmmBackward0"):
        with world.node(node):
            if node == "SoftmaxBackward0":
                world.kernel_of("aten::_softmax_backward_data", SOFTMAX_BACK, 300)
            else:
                world.kernel_of("aten::bmm", AMPERE, 150)
                world.kernel_of("aten::bmm", AMPERE, 150)


def _two_towers(fused: int) -> Clocked:
    """A vision-language model of twelve layers, of which some have fused attention."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        for number in range(12):
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 300)
            _attention(world, fused=number < fused)
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 300)
        with world.backward():
            for number in reversed(range(12)):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 600)
                _attention_back(world, fused=number < fused)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 600)
        update(world)
    return world


def _metrics(cause: bool) -> Clocked:
    """Lightning, `self.log(..., sync_dist=True)`: four metrics are summed over all ranks and read in each step."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(60, workers=8)
        world.copied("HtoD", 8 << 20, pinned=True)
        with world.inside("DistributedDataParallel.forward"):
            blocks(world, 40)
        for _ in range(4 if cause else 0):
            end = world.collective(
                "allreduce", 900, kernel=ALL_REDUCE, after=world.busy_until[7], elements=1, dtype="Float", size=8
            )
            world.busy_until[7] = end
            world.read_value()
        with world.backward():
            for index in range(40):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_BACK, 260, host=40)
                    if index % 13 == 12:
                        world.collective(
                            "allreduce", 1_000, kernel=ALL_REDUCE, after=world.busy_until[7], dtype="Float", size=8
                        )
        update(world, "SGD", dur=1_500)
    return world


def _trained_in_part(checkpoints: bool) -> Clocked:
    """Twelve layers that autograd does not record, and a head that it does: checkpoints, computed again, or a frozen model."""
    world = Clocked(top=of(A100))
    for _ in world.steps(4):
        for _ in range(12):
            if checkpoints:
                with world.within("CheckpointFunction"):
                    layer(world)
            else:
                layer(world)
        world.recorded = True
        layers(world, 3)
        world.recorded = False
        layers_back(world, 3)
        with world.backward():
            for _ in range(12 if checkpoints else 0):
                with world.node("CheckpointFunctionBackward"):
                    world.recorded = True
                    layer(world)
                    world.recorded = False
                    with world.node("MmBackward0"):
                        layer(world, 2.0, backward=True)
        update(world)
    return world


STORIES = (
    Story(
        "device recorded alone, small kernels",
        "activities=[ProfilerActivity.CUDA]",
        "https://docs.pytorch.org/docs/stable/profiler.html",
        "each kernel ends before the next is launched: the host is what it waits for, and was not recorded",
        partial(_device_alone, 4),
        told=("~idles until its next work is launched", "~the calls that launch it were recorded"),
        never=("~the trace does not show why\\.$", "PY001", "ID001"),
    ),
    Story(
        "device recorded alone, large kernels",
        "activities=[ProfilerActivity.CUDA]",
        "https://docs.pytorch.org/docs/stable/profiler.html",
        "the same with kernels that keep it busy",
        partial(_device_alone, 90),
        bound=("compute",),
        never=("~until its next work is launched", "PY001", "ID001"),
    ),
    Story(
        "engine without ops, late",
        "TensorRT-LLM, graphs",
        GITHUB + "NVIDIA/TensorRT-LLM",
        "between two passes the engine works on the host, of which nothing was recorded",
        partial(_engine_alone, 1_500),
        told=("~idles until its next work is launched",),
        never=("~Only device work was recorded", *NOT_TRAINED),
    ),
    Story(
        "engine without ops, in time",
        "TensorRT-LLM, graphs",
        GITHUB + "NVIDIA/TensorRT-LLM",
        "the same that is ready sooner",
        partial(_engine_alone, 60),
        bound=("compute",),
        never=("~until its next work is launched", *NOT_TRAINED),
    ),
    Story(
        "attention of one tower written out",
        "vision-language model",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        "three of twelve layers have fused attention, the others write it out: a third of the computing",
        partial(_two_towers, 3),
        bound=("compute",),
        told=("GR005", "~Other attention is fused"),
        never=("DL001", "~no fused kernel takes its inputs"),
    ),
    Story(
        "attention of one layer written out",
        "vision-language model",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        "one layer, whose weights are asked for: little beside what is fused",
        partial(_two_towers, 11),
        bound=("compute",),
        never=("GR005", "DL001"),
    ),
    Story(
        "metrics summed in each step",
        "vision, DDP, Lightning",
        "https://lightning.ai/docs/pytorch/stable/extensions/logging.html",
        "sync_dist=True has all ranks wait for one another before each backward pass: log seldom, or once an epoch",
        partial(_metrics, True),
        told=("CO001", "~a few numbers", "~waiting for ranks that come later"),
        never=("~bucket_cap_mb", "~no_sync", "~compress_hook", "DL001"),
    ),
    Story(
        "metrics kept on each rank",
        "vision, DDP, Lightning",
        "https://lightning.ai/docs/pytorch/stable/extensions/logging.html",
        "the same with sync_dist=False: gradients are reduced beside the backward pass",
        partial(_metrics, False),
        bound=("compute",),
        never=("CO001", "CO002", "~come later", "DL001"),
    ),
    Story(
        "layers checkpointed",
        "LLM fine-tuning, use_reentrant=True",
        "https://huggingface.co/docs/transformers/main/en/grad_checkpointing",
        "checkpoints are not recorded in the forward pass and computed again in the backward pass: nothing of it is frozen",
        partial(_trained_in_part, True),
        bound=("compute",),
        told=("KE006",),
        never=("~without gradients", "~encoder", "DL001"),
    ),
    Story(
        "layers frozen",
        "LLM fine-tuning, head alone",
        "https://huggingface.co/docs/transformers/main/en/grad_checkpointing",
        "the same layers under no_grad, of which no node takes a gradient: what they give may be kept",
        partial(_trained_in_part, False),
        bound=("compute",),
        told=("~without gradients, as of a frozen model",),
        never=("KE006", "DL001"),
    ),
)
