"""Stories of traces as others record them: what an expert sees in them at once, and beside each the same without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, FLASH, NVJET, RANKS, layer, layers, layers_back, update
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ONE_BY_ONE = (
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align1>"
    "(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align1::Params)"
)
ARGMAX = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4> >"
    "(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4>)"
)
BF16 = "c10::BFloat16"


def _head(words: int, kernel: str, dur: float) -> Clocked:
    """A decoder and the product of its head, of so many words."""
    world = Clocked(top=of(A100))
    shapes = {"Input Dims": [[8_192, 4_096], [4_096, words]], "Input type": [BF16, BF16]}
    for _ in world.steps(5):
        layers(world, 6)
        world.kernel_of("aten::linear/aten::mm", kernel, dur, host=30, args=shapes, grid=[400, 1, 1], block=[256, 1, 1])
        layers_back(world, 6)
        update(world)
    return world


def _served(scheduled: float) -> Clocked:
    """vLLM, its passes replayed; behind the wait for a pass's tokens the scheduler works for so many microseconds."""
    world = Clocked(marks=False)
    for _ in range(30):
        world.idle(scheduled)
        with world.inside("gpu_model_runner: preprocess"):
            world.copied("HtoD", 2_048, pinned=True, path="aten::copy_")
        with world.inside("gpu_model_runner: forward"):
            world.graph([(NVJET, 25.0), (FLASH, 15.0), (NVJET, 40.0), (ADD, 3.0)] * 32)
        with world.inside("gpu_model_runner: sample"):
            world.kernel_of("aten::argmax", ARGMAX, 10, host=20)
        world.copied("DtoH", 1_024, pinned=True)
        world.synchronize("cudaEventSynchronize")
    return world


def _summed(dur: float) -> Clocked:
    """Gradients of 64 MiB are summed behind the backward pass, in so many microseconds."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        layers(world, 5)
        layers_back(world, 5)
        after = world.busy_until[7]
        world.busy_until[7] = world.collective(
            "allreduce", dur, kernel=ALL_REDUCE, after=after, elements=16 << 20, dtype="Float", size=8
        )
        update(world)
    return world


def _zeroed(cause: bool) -> Clocked:
    """Twenty buffers of half a gigabyte are made anew, of zeros, in each step; or none."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        layers(world, 6)
        for _ in range(20 if cause else 0):
            begin = world.now
            for depth, op in enumerate(("aten::zeros", "aten::zero_", "aten::fill_")):
                world.op(op, begin + depth * 0.5, 14 - depth)
            correlation = world.runtime("cudaMemsetAsync", begin + 4, 5)
            start = max(begin + 11, world.busy_until[7] + 1)
            facts = {"device": 0, "stream": 7, "correlation": correlation, "bytes": 512 << 20}
            world.event("Memset (Device)", "gpu_memset", start, 400, pid=0, tid=7, args=facts)
            world.busy_until[7] = start + 400
            world.now = begin + 16
        layers_back(world, 6)
        update(world)
    return world


def _packed(cause: bool) -> Clocked:
    """Sequences packed without padding: each layer asks anew where they begin, by `nonzero` and `.item()`; or once a step."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        for index in range(24):
            layer(world, 0.25)
            if cause or index == 0:
                world.kernel_of("aten::ne", ADD, 3)
                world.read_value("aten::nonzero")
                world.idle(80)
                world.kernel_of("aten::cumsum", ADD, 3)
                world.read_value()
                world.idle(80)
        layers_back(world, 24, 0.5)
        update(world)
    return world


STORIES = (
    Story(
        "head of 50257 words far below its peak",
        "LLM pretraining, A100",
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "rows that begin at odd addresses are loaded number by number: 50257 rounded up to 50304",
        partial(_head, 50_257, ONE_BY_ONE, 70_000),
        bound=("compute",),
        told=("PR003", "~50257", "~1\\.5 is usual|How much padding gives"),
        never=("DL001", "PR001"),
    ),
    Story(
        "head of 50304 words near its peak",
        "LLM pretraining, A100",
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "the same with a vocabulary that is a multiple of 64",
        partial(_head, 50_304, NVJET, 15_500),
        bound=("compute",),
        told=("KE004",),
        never=("PR003", "KE005", "DL001"),
    ),
    Story(
        "tokens awaited, then scheduled",
        "LLM serving, graphs",
        "https://docs.vllm.ai/en/latest/configuration/engine_args.html",
        "the engine schedules the next pass when it has the tokens of this one: its asynchronous scheduler does so beside it",
        partial(_served, 2_000),
        told=("SY003|PY001|IN001", "~async_scheduling=True"),
        never=("~waiting to remove", *NOT_TRAINED),
    ),
    Story(
        "tokens awaited, scheduled at once",
        "LLM serving, graphs",
        "https://docs.vllm.ai/en/latest/configuration/engine_args.html",
        "the same with next to nothing to schedule",
        partial(_served, 20),
        bound=("compute",),
        never=("SY003", "PY001", "IN001", *NOT_TRAINED),
    ),
    Story(
        "64 MiB summed in 60 ms",
        "LLM pretraining, DDP, one rank",
        "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "1.1 GB/s is far below any link inside a machine: ranks wait for a late one, or the network is as slow",
        partial(_summed, 60_000),
        bound=("communication",),
        told=("CO001", "~1\\.1 GB/s: devices of one machine reach several times that"),
        never=("DL001",),
    ),
    Story(
        "64 MiB summed in 12 ms",
        "LLM pretraining, DDP, one rank",
        "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "5.6 GB/s may be a link: from one rank waiting and sending are not told apart",
        partial(_summed, 12_000),
        told=("CO001", "~cannot tell waiting for another rank from transferring"),
        never=("~several times that", "DL001"),
    ),
    Story(
        "buffers of zeros in each step",
        "simulation, learned",
        GITHUB + "pytorch/pytorch/issues/109856",
        "a fifth of the computing sets memory to zero: buffers made once, or `torch.empty` where all is written",
        partial(_zeroed, True),
        bound=("compute",),
        told=(
            "KE013",
            "~torch.empty",
            "~setting memory to a value 2\\d %\\.",
            "~most of it for `aten::zeros`",
        ),
        never=("OP003", "DL001"),
    ),
    Story(
        "buffers made once",
        "simulation, learned",
        GITHUB + "pytorch/pytorch/issues/109856",
        "the same without them",
        partial(_zeroed, False),
        bound=("compute",),
        never=("~setting memory", "KE013", "OP003", "DL001"),
    ),
    Story(
        "packed sequences measured in each layer",
        "LLM fine-tuning, padding-free",
        GITHUB + "huggingface/transformers/pull/31629",
        "each layer finds out anew where sequences begin, and reads two results for it: once a step is enough",
        partial(_packed, True),
        told=("SY004", "~between its layers|nonzero"),
        never=("~AsyncVectorEnv", "~gymnasium", "DL001"),
    ),
    Story(
        "packed sequences measured once",
        "LLM fine-tuning, padding-free",
        GITHUB + "huggingface/transformers/pull/31629",
        "the same once a step",
        partial(_packed, False),
        bound=("compute",),
        never=("SY001", "SY004", "PY001", "DL001"),
    ),
)
