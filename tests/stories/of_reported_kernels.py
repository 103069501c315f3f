"""Stories of kernels and launches that somebody reported with a profile; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    BATCH_NORM,
    FLASH,
    LINEAR,
    NVJET,
    RANKS,
    SGEMM,
    layers,
    layers_back,
    update,
)
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

CDIST = "void at::native::(anonymous namespace)::cdist_kernel_cuda_impl<float, at::native::dists<float>::one>(p)"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4>"
CONV_1D = "void cudnn::cnn::conv1d_grouped_direct_kernel<false, true, false, false, 0, 0, float>(p)"


def _frozen_kernel_on_a_cpu() -> Clocked:
    """Inductor on a CPU with freezing: 97 % in one generated kernel inside the graph's call, no op of its own is slow."""
    world = Clocked(None, marks=False)
    for _ in range(6):
        with world.within("Torch-Compiled Region: 0/0"), world.within("## Call CompiledFxGraph fxkq3 ##"):
            world.host_op("mkldnn::_linear_pointwise", 700)
            world.idle(61_000)
            world.host_op("mkldnn::_linear_pointwise", 700)
            world.host_op("aten::bmm", 400)
    return world


def _distances_of_a_matcher() -> Clocked:
    """A detector's matcher: `torch.cdist(p=1)` over queries and boxes is slow, a broadcast difference is not."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(70, workers=8)
        world.copied("HtoD", 16 << 20, pinned=True)
        layers(world, 5)
        for _ in range(7):
            world.kernel_of("aten::cdist/aten::_cdist_forward", CDIST, 3_400, host=30)
            world.kernel_of("aten::mul", ADD, 12)
            world.copied("DtoH", 300 * 100 * 4)
            world.idle(300)
        layers_back(world, 5)
        update(world)
    return world


def _positions_of_three_axes() -> Clocked:
    """A small vision-language model decodes from a graph; the rotary embedding of torch's ops is 30 % of each layer."""
    world = Clocked(marks=False)
    rotary = [(ADD, 4.0)] * 6 + [(CAT, 5.0)] * 3
    for number in range(12):
        with world.inside(f"decode step {number}"):
            world.graph([(NVJET, 26), *rotary, (FLASH, 14), (NVJET, 14), (NVJET, 32), (ADD, 4)] * 36, gap=0.6)
            world.copied("DtoH", 64)
    return world


def _kernels_all_the_time() -> Clocked:
    """kineto: 95 % of an epoch is "Kernel", the loader is not the problem: single precision on a card that has faster formats."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(90, workers=6)
        world.copied("HtoD", 24 << 20, pinned=True)
        shapes = {"Input Dims": [[8192, 4096], [4096, 4096]], "Input type": ["float", "float"]}
        for _ in range(10):
            world.kernel_of(LINEAR, SGEMM, 4_600, args=shapes)
            world.kernel_of("aten::relu", ADD, 60)
        with world.backward():
            for _ in range(10):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", SGEMM, 4_600, args=shapes)
                    world.kernel_of("aten::mm", SGEMM, 4_600, args=shapes)
        update(world, "Adam")
    return world


def _largest_of_each_weight() -> Clocked:
    """FSDP2 with float8: the largest of each of 225 weights, computed one by one behind the update while the device waits."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        world.load(70, workers=4)
        layers(world, 3)
        layers_back(world, 3)
        update(world)
        for _ in range(225):
            for op in ("aten::abs", "aten::max", "aten::clamp", "aten::reciprocal"):
                world.kernel_of(op, ADD, 4, host=34)
        world.read_value()
    return world


def _norms_of_convolutions_in_turns() -> Clocked:
    """A vocoder whose weight norm is folded, as the report asks for, with chunks large enough to keep the device busy."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.inside(f"chunk {number}"):
            for _ in range(82):
                world.kernel_of("aten::conv1d/aten::convolution/aten::cudnn_convolution", CONV_1D, 160, host=34)
                world.kernel_of("aten::batch_norm/aten::cudnn_batch_norm", BATCH_NORM, 20)
            world.copied("DtoH", 960_000)
    return world


STORIES = (
    Story(
        "one frozen kernel on a CPU", "vision, CPU, compiled", GITHUB + "pytorch/pytorch/issues/190757",
        "a generated kernel takes 97 %: not Python, and no op", _frozen_kernel_on_a_cpu,
        bound=("compute", "unknown"), told=("~CompiledFxGraph|compiled",), 
        never=("PY001", "PY003", "CP001", "~torch\\.compile\\(model\\)", *NOT_TRAINED),
    ),
    Story(
        "distances of a matcher", "detection, DETR", GITHUB + "LibreYOLO/libreyolo/issues/763",
        "cdist with p=1 takes a good part of the step: a broadcast difference", _distances_of_a_matcher,
        bound=("compute", "mixed"), told=("~cdist",), never=("DL001", "PR001", "OP001", "XF001"),
    ),
    Story(
        "weights folded", "speech, vocoder, healthy", GITHUB + "vllm-project/vllm-omni/pull/6927",
        "without weight norm, chunks large enough: nothing waits", _norms_of_convolutions_in_turns,
        bound=("compute",), told=("~convolution|cudnn|conv1d",), never=("ID001", "GR004", "~weight.norm", *NOT_TRAINED),
    ),
    Story(
        "rotary embedding of three axes", "multimodal serving, graphs", GITHUB + "sgl-project/sglang/pull/9487",
        "small kernels are 30 % of each layer: fused by the compiler, 8 times as fast", _positions_of_three_axes,
        bound=("compute",), told=("~elementwise|pointwise|CatArray|fus",), never=("ID001", "GR004", "SY001", *NOT_TRAINED),
    ),
    Story(
        "kernels all the time", "tabular, single precision", GITHUB + "pytorch/kineto/issues/514",
        "the device works all the time, in single precision: mixed precision, TF32", _kernels_all_the_time,
        bound=("compute",), told=("PR001|PR002",), never=("DL001", "ID001", "GR004", "PY001"),
    ),
    Story(
        "the largest of each weight", "LLM pretraining, float8, FSDP2", GITHUB + "pytorch/pytorch/issues/129457",
        "900 small launches behind the update: at once, or compiled", _largest_of_each_weight,
        bound=("compute", "mixed", "launch"), told=("ID001|GR004|PY003|OP002",), never=("DL001", "CO001", "PY001"),
    ),
)  # fmt: skip
