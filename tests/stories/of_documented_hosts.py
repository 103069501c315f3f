"""Stories of hosts whose cause is documented where they were reported, each beside the same program without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from building.dialects import repeated_ids, rocm
from stories.models import (
    ADD,
    CIJK,
    FLASH,
    LINEAR,
    NORM,
    NVJET,
    RANKS,
    SGEMM,
    blocks_back,
    layer,
    layers,
    layers_back,
    update,
)
from stories.of_answering import ARGMAX
from stories.of_requests import NONZERO, NOT_TRAINED, TO_HOST
from stories.of_serving import GEMV, SOFTMAX
from stories.of_unseen_reads import INDEX, SELECT
from stories.story import GITHUB, Story

SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long>>(p)"
DECODED = [(NVJET, 40.0), (FLASH, 20.0), (NVJET, 30.0), (NVJET, 80.0), (ADD, 6.0)]


def _all_solutions(cause: bool) -> Clocked:
    """hipBLASLt finds no kernel for bfloat16 on an MI300A and looks through all: 600 ms on the host for each product."""
    world = Clocked("rocm")
    for _ in world.steps(4):
        for _ in range(6):
            world.kernel_of("aten::linear/aten::addmm", CIJK, 350, host=600_000 if cause else 20)
            world.kernel_of("aten::gelu", ADD, 30)
        with world.backward():
            for _ in range(6):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", CIJK, 350, host=620_000 if cause else 20)
                    world.kernel_of("aten::mm", CIJK, 350)
        update(world)
    return rocm(world)  # type: ignore[return-value]


def _suspended(cause: bool) -> Clocked:
    """Megatron-LM's launching thread is suspended now and then, in a call that only takes memory from the cache."""
    world = Clocked(top=RANKS)
    for _ in world.steps(6):
        for index in range(24):
            if cause and index in (5, 13, 20):
                world.host_op("aten::empty", 20_000)
            layer(world, 0.6)
        layers_back(world, 24, 1.2)
        update(world)
        world.read_value()
    return world


def _slow_replays(cause: bool) -> Clocked:
    """torch 2.10: `cudaGraphLaunch` takes the host seven times as long as before, and longer than the graph runs."""
    world = Clocked(marks=False)
    for _ in range(12):
        with world.within("Torch-Compiled Region: 0/0"):
            world.graph(DECODED * 30, gap=0.6, host=9_800 if cause else 1_300)
        world.kernel_of("aten::argmax", ARGMAX, 12)
        world.copied("DtoH", 640)
        world.idle(200)
    return world


def _weights_sent(cause: bool) -> Clocked:
    """Weights that vLLM keeps on the host are sent for each pass: 99.9 % of the time are copies."""
    world = Clocked(marks=False)
    for _ in range(4):
        with world.inside("execute_model"):
            for _ in range(32):
                if cause:
                    world.copied("HtoD", 436 << 20, pinned=True, blocks=False, rate=24_000)
                world.kernel_of("aten::linear/aten::mm", GEMV, 60)
                world.kernel_of("aten::_flash_attention_forward", FLASH, 20, host=30)
                world.kernel_of("aten::linear/aten::mm", GEMV, 120)
            world.copied("DtoH", 64)
    return world


def _unique(cause: bool) -> Clocked:
    """torch 1.11: `torch.unique` copies its size to pageable memory, sixty times a step."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(80, workers=8)
        for _ in range(60):
            world.kernel_of("aten::index", INDEX, 12)
            world.kernel_of(LINEAR, SGEMM, 30)
            if cause:
                with world.within("aten::_unique2"):
                    world.kernel_of("aten::_unique2", SORT, 10, host=20)
                    world.kernel_of("aten::_unique2", SELECT, 6, host=20)
                    world.copied("DtoH", 4, path=None)
            for op in ("aten::index_select", "aten::mul", "aten::sum"):
                world.kernel_of(op, ADD, 18)
        blocks_back(world, 30, 1)
        update(world, "Adam")
    return repeated_ids(world)  # type: ignore[return-value]


def _retried(cause: bool) -> Clocked:
    """FSDP2 on an MI325X at 97 % of its memory: allocations are retried in every step."""
    world = Clocked("rocm", top=RANKS)
    for _ in world.steps(5):
        for index in range(20):
            if cause and index % 5 == 2:
                with world.within("aten::empty"):
                    for call, dur in (("hipMalloc", 300), *(("hipFree", 700),) * 8, ("hipMalloc", 1_200)):
                        world.runtime(call, world.now, dur)
                        world.now += dur + 5
            layer(world)
        layers_back(world, 20)
        update(world)
    return rocm(world)  # type: ignore[return-value]


def _waiting_attention(cause: bool) -> Clocked:
    """An extension's attention ends with cudaStreamSynchronize and cudaDeviceSynchronize."""
    world = Clocked(marks=False)
    for number in range(5):
        with world.inside(f"denoise {number}"):
            for _ in range(30):
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", NORM, 12, host=30)
                for _ in range(3):
                    world.kernel_of(LINEAR, NVJET, 30, host=24)
                for _ in range(8):
                    world.kernel_of("aten::mul", ADD, 6, host=18)
                with world.within("fastvideo::sliding_tile_attention"):
                    world.kernel_of(None, "void fwd_attend_ker<128, true, 8, 5>(p)", 160, api="cudaLaunchKernelExC")
                    if cause:
                        world.synchronize("cudaStreamSynchronize")
                        world.synchronize("cudaDeviceSynchronize")
                for _ in range(3):
                    world.kernel_of(LINEAR, NVJET, 60, host=24)
            world.copied("DtoH", 64)
    return world


def _documents(cause: bool) -> Clocked:
    """A loss for each document of a pack: two slices by numbers on the GPU and a mask, with a wait each."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for _ in range(4):
            layers(world, 4)
            for _ in range(128 if cause else 0):
                for _ in range(2):
                    with world.within("aten::slice"):
                        world.read_value()
                world.kernel_of("aten::index/aten::nonzero", NONZERO, 4, host=14)
                world.read_value("aten::index/aten::nonzero")
                world.kernel_of("aten::index", INDEX, 4)
                world.kernel_of("aten::sum", ADD, 4)
            layers_back(world, 4)
        update(world)
    return world


def _rows_of_logits() -> Clocked:
    """TRL's selective log-softmax goes row by row: thousands of small launches behind a read of the loss."""
    world = Clocked()
    for _ in world.steps(3):
        layers(world, 10)
        world.read_value()
        for _ in range(1_500):
            world.kernel_of("aten::log_softmax/aten::_log_softmax", SOFTMAX, 6, host=22)
            world.kernel_of("aten::gather", INDEX, 3, host=16)
        layers_back(world, 10)
        update(world)
    return world


def _sampler() -> Clocked:
    """vLLM of March 2024: `.cpu()` in the sampler waits for the pass, and then the host works for 3 ms while the device idles."""
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("execute_model"):
            world.idle(900)
            world.copied("HtoD", 4_096, pinned=True)
            world.graph(DECODED * 32, gap=0.6)
            world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 40)
            world.kernel_of("aten::sort", SORT, 60)
            world.kernel_of("aten::argmax", ARGMAX, 12)
            world.copied("DtoH", 2_048, path=TO_HOST)
            world.idle(3_200)
    return world


def _norm_by_norm() -> Clocked:
    """A mixture of experts clips 776 gradients one by one, 5,434 launches and 74 ms a step, behind a read of the loss."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        world.load(80, workers=4)
        layers(world, 12, 1.6)
        layers_back(world, 12, 3.2)
        world.read_value()
        for _ in range(776):
            for op in ("_to_copy", "linalg_vector_norm", "pow", "add_", "clamp", "mul_"):
                world.kernel_of(f"aten::{op}", ADD, 3.2, host=15)
        update(world)
    return world


def _first_index() -> Clocked:
    """Flux: `nonzero().item()` finds the first of 28 timesteps; minor, as the report says."""
    world = Clocked(marks=False)
    for image in range(3):
        with world.inside(f"image {image}"):
            world.kernel_of("aten::eq", ADD, 3)
            world.kernel_of("aten::nonzero", NONZERO, 4, host=14)
            world.read_value("aten::nonzero")
            for _ in range(28):
                layers(world, 6, 1.5)
            world.copied("DtoH", 3 << 20)
    return world


HEALTHY = ("ID001", "ID002", "SY001", "SY002", "SY003", "SY004", "PY001", "ME001", "XF002")
STORIES = (
    Story(
        "hipBLASLt looks through all kernels",
        "LLM, ROCm",
        GITHUB + "ROCm/rocm-systems/issues/4084",
        "no kernel is known for this card, so each product looks through all: another library or version",
        partial(_all_solutions, True),
        bound=("launch",),
        told=("ID001", "~preferred_blas_library"),
        never=("GR004", "~reduce-overhead", "~lie on the GPU", "~in the workers"),
    ),
    Story(
        "products that are known",
        "LLM, ROCm",
        GITHUB + "ROCm/rocm-systems/issues/4084",
        "the same where kernels are known",
        partial(_all_solutions, False),
        bound=("compute",),
        never=HEALTHY,
    ),
    Story(
        "thread suspended",
        "LLM pretraining, TP and PP",
        GITHUB + "NVIDIA/Megatron-LM/issues/1625",
        "the host's thread is suspended inside calls that compute nothing: look at the machine, not at launches",
        partial(_suspended, True),
        bound=("launch",),
        told=("~aten::empty", "~the trace does not tell"),
        never=("GR004", "~reduce-overhead", "DL001", "~lie on the GPU", "~in the workers"),
    ),
    Story(
        "thread that is left alone",
        "LLM pretraining, TP and PP",
        GITHUB + "NVIDIA/Megatron-LM/issues/1625",
        "the same without",
        partial(_suspended, False),
        bound=("compute",),
        never=HEALTHY,
    ),
    Story(
        "graph launched slowly",
        "LLM serving, torch 2.10",
        GITHUB + "pytorch/pytorch/issues/174575",
        "the launch of the graph itself takes seven times as long: another version",
        partial(_slow_replays, True),
        told=("~cudaGraphLaunch", "~version of the driver"),
        never=("GR004", "~lie on the GPU", *NOT_TRAINED),
    ),
    Story(
        "graph launched soon",
        "LLM serving, torch 2.9",
        GITHUB + "pytorch/pytorch/issues/174575",
        "the same before",
        partial(_slow_replays, False),
        bound=("compute",),
        never=(*HEALTHY, *NOT_TRAINED),
    ),
    Story(
        "weights sent for each pass",
        "LLM serving, offload",
        GITHUB + "vllm-project/vllm/pull/6317",
        "weights travel for each pass, 99.9 % of the time",
        partial(_weights_sent, True),
        bound=("copy",),
        told=("XF002", "~keep on the device"),
        never=("~uint8", "XF006", "DL001", *NOT_TRAINED),
    ),
    Story(
        "weights on the device",
        "LLM serving",
        GITHUB + "vllm-project/vllm/pull/6317",
        "the same without offloading",
        partial(_weights_sent, False),
        bound=("compute",),
        never=(*HEALTHY, *NOT_TRAINED),
    ),
    Story(
        "unique asks for its size",
        "training, torch 1.11",
        GITHUB + "pytorch/pytorch/issues/107132",
        "the number of values is copied to the host, which waits",
        partial(_unique, True),
        told=("SY004", "~_unique2", "~seen"),
        never=("~mask", "DL001", "GR004"),
    ),
    Story(
        "nothing asks for a size",
        "training, torch 1.11",
        GITHUB + "pytorch/pytorch/issues/107132",
        "the same without",
        partial(_unique, False),
        bound=("compute",),
        never=HEALTHY,
    ),
    Story(
        "allocations retried at 97 %",
        "LLM pretraining, FSDP2, ROCm",
        GITHUB + "ROCm/pytorch/pull/3501",
        "memory is full: what is cached is freed and asked for again in each step",
        partial(_retried, True),
        told=("ME001", "~num_alloc_retries", "~checkpoint"),
        never=("~empty_cache", "~cudaMalloc", "SY003"),
    ),
    Story(
        "memory to spare",
        "LLM pretraining, FSDP2, ROCm",
        GITHUB + "ROCm/pytorch/pull/3501",
        "the same without",
        partial(_retried, False),
        bound=("compute",),
        never=HEALTHY,
    ),
    Story(
        "attention that synchronises",
        "video generation, extension",
        GITHUB + "HazyResearch/ThunderKittens/pull/129",
        "waits behind a launch that nothing needs: take them out of the op",
        partial(_waiting_attention, True),
        told=("SY003", "~fastvideo::sliding_tile_attention", "~cudaGetLastError"),
        never=("~torch\\.cuda\\.synchronize", *NOT_TRAINED),
    ),
    Story(
        "attention that does not",
        "video generation, extension",
        GITHUB + "HazyResearch/ThunderKittens/pull/129",
        "the same without",
        partial(_waiting_attention, False),
        bound=("compute",),
        never=(*HEALTHY, *NOT_TRAINED),
    ),
    Story(
        "document by document",
        "LLM fine-tuning, packed",
        GITHUB + "modelscope/ms-swift/pull/9795",
        "three waits for each document of a pack: one reduction for all",
        partial(_documents, True),
        told=("SY001|SY004|PY002",),
        never=("DL001", "GR004"),
    ),
    Story(
        "all documents at once",
        "LLM fine-tuning, packed",
        GITHUB + "modelscope/ms-swift/pull/9795",
        "the same without",
        partial(_documents, False),
        bound=("compute",),
        never=HEALTHY,
    ),
    Story(
        "log-softmax row by row",
        "RLHF",
        GITHUB + "huggingface/trl/pull/7124",
        "a loop over tokens: chunks of rows at once",
        _rows_of_logits,
        told=("PY002|PY003", "~log_softmax"),
        never=("DL001",),
    ),
    Story(
        "sampler awaits the pass",
        "LLM serving",
        GITHUB + "vllm-project/vllm/issues/3384",
        "the copy waits for the pass; what costs is the host's work behind it",
        _sampler,
        bound=("python",),
        told=("PY001",),
        never=("GR004", "ID001", "XF001", *NOT_TRAINED),
    ),
    Story(
        "seven kernels a gradient",
        "LLM, MoE, FSDP2",
        GITHUB + "NVIDIA-NeMo/Automodel/pull/3685",
        "norms of gradients one by one: all in one pass",
        _norm_by_norm,
        told=("OP004|PY003", "~norm"),
        never=("DL001", "PR001"),
    ),
    Story(
        "first timestep looked up",
        "diffusion",
        GITHUB + "huggingface/diffusers/pull/11696",
        "one wait an image: next to nothing",
        _first_index,
        bound=("compute",),
        never=(*HEALTHY, *NOT_TRAINED),
    ),
)
