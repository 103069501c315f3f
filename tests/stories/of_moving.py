"""Stories of what is moved between host and device, of what holds the host meanwhile, and of what is left there by design."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    AMPERE,
    CONV,
    CONV_BACK,
    GATHER,
    NVJET,
    RANKS,
    SDPA,
    TO,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    sent_and_waited,
    update,
    update_foreach,
)
from stories.story import GITHUB, Story

SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
EXCHANGE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CONV_3D = "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x32x16"


def _frozen_out() -> Clocked:
    """DINO, ViT-small: 335 ms a pass without, and 50 ms in which the pinning thread holds Python's lock; a quarter."""
    world = Clocked()
    for _ in world.steps(8):
        world.load(150, workers=10)
        world.copied("HtoD", 20 << 20, pinned=True)
        layers(world, 10)
        # The bubbles are the device's, as reported: the queue is nearly empty by then.
        world.now = max(world.now, world.busy_until[7] - 400)
        world.idle(13_000)
        layers(world, 6)
        with world.backward():
            for index in range(16):
                if index == 9:
                    world.now = max(world.now, world.busy_until[7] - 400)
                    world.idle(14_000)
                with world.node("MmBackward0"):
                    layer(world, 2.0, backward=True)
        update(world)
    return world


def _tensor_of_a_number() -> Clocked:
    """SGLang's draft worker: torch.tensor(n, device=...) each step waits 3.5 of 8.4 ms for what is queued."""
    world = Clocked(marks=False)
    names = [(NVJET, 40), ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<true>", 20), (ADD, 4)]
    for number in range(12):
        with world.marked(number), world.inside("run_batch"):
            world.graph(names * 55)
            sent_and_waited(world, 4)
            for _ in range(40):
                world.kernel_of("aten::add", ADD, 5, host=38)
            world.graph(names * 30)
            world.idle(300)
    return world


def _constants() -> Clocked:
    """DeePMD's loss: torch.tensor(constant) in the forward pass, again and again: a copy and a wait each."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(90, workers=4)
        perceptron(world, 14, 60)
        for _ in range(24):
            sent_and_waited(world, 8)
            world.kernel_of("aten::mul", ADD, 6, host=22)
            world.kernel_of("aten::sum", ADD, 6, host=24)
        with world.backward():
            for _ in range(30):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 60, host=30)
        update(world, "Adam", dur=300)
    return world


def _strided() -> Clocked:
    """vLLM, M-RoPE: a strided view of a pinned buffer is sent: the call stands until the queue is empty."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.marked(number), world.inside("gpu_model_runner: preprocess"):
            world.copied("HtoD", 48_000, pinned=True, blocks=True, path="aten::copy_")
            for _ in range(60):
                world.kernel_of("aten::linear/aten::mm", NVJET, 60, host=45)
                world.kernel_of("aten::gelu", ADD, 10, host=30)
            world.graph([(NVJET, 60), (ADD, 4)] * 60)
    return world


def _splits() -> Clocked:
    """TorchRec and torchtitan: the sizes of an exchange are read with .tolist() before it, layer by layer."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for _ in range(10):
            layer(world, 0.4)
            world.kernel_of("aten::histc", ADD, 8, host=20)
            world.copied("DtoH", 2_048, path="aten::to/aten::_to_copy/aten::copy_")
            world.idle(160)
            end = world.collective("all_to_all_single", 450, kernel=EXCHANGE, after=world.busy_until[7])
            world.busy_until[7] = end
            world.kernel_of("aten::_grouped_mm", NVJET, 500, host=40)
        layers_back(world, 10, 1.2)
        update(world)
    return world


def _sequential_offload() -> Clocked:
    """Stable Diffusion with enable_sequential_cpu_offload: each module's weights are sent anew for each step, 6 it/s become 2."""
    world = Clocked(marks=False)
    for _ in world.steps(6):
        for _ in range(25):
            world.copied("HtoD", 64 << 20, rate=8_000, path=TO)
            world.kernel_of("aten::conv2d/aten::convolution/aten::cudnn_convolution", CONV, 2_600, host=60)
            world.kernel_of("aten::group_norm/aten::native_group_norm", ADD, 120, host=40)
            world.kernel_of("aten::silu", ADD, 60)
    return world


def _activations_out() -> Clocked:
    """Activations go to pinned memory on a stream of their own beside the layers, and come back: nothing is lost."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(12):
            layer(world)
            world.copied("DtoH", 24 << 20, pinned=True, rate=24_000, stream=15, path="aten::copy_")
        with world.backward():
            for _ in range(12):
                world.copied("HtoD", 24 << 20, pinned=True, rate=24_000, stream=16, path="aten::copy_")
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        update(world)
    return world


def _pinned_anew() -> Clocked:
    """torchtune, OffloadActivations: memory is pinned anew for each activation, and cudaHostAlloc waits for the device."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(10):
            layer(world)
            end = max(world.busy_until.values())
            with world.within("aten::empty"):
                world.runtime("cudaHostAlloc", world.now, max(end - world.now, 0) + 2_400)
                world.now = max(end, world.now) + 2_410
            world.copied("DtoH", 24 << 20, pinned=True, rate=24_000, stream=15, path="aten::copy_")
        layers_back(world, 10, 2.0)
        update(world)
    return world


def _retried() -> Clocked:
    """GPT under FSDP without limit_all_gathers: cudaMalloc fails and is tried again, memory freed in each step."""
    world = Clocked(top=RANKS)
    for _ in world.steps(6):
        world.annotation("FullyShardedDataParallel.forward", world.now, 9_000)
        for index in range(10):
            world.collective("_allgather_base", 900, kernel=GATHER)
            layer(world)
            if index % 3 == 1:
                world.synchronize()
                for _ in range(4):
                    world.runtime("cudaFree", world.now, 2_100)
                    world.now += 2_105
                world.runtime("cudaMalloc", world.now, 3_000)
                world.now += 3_010
        with world.backward():
            for _ in range(10):
                world.collective("_allgather_base", 900, kernel=GATHER)
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                world.collective("_reduce_scatter_base", 900, kernel=SCATTER, stream=22, dtype="Float")
        update(world)
    return world


def _watched() -> Clocked:
    """wandb.watch with log_freq=1: each gradient goes through a histogram that the host reads."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=4)
        blocks(world, 24, 0.7)
        with world.backward():
            for _ in range(24):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_BACK, 160, host=34)
                for _ in range(2):
                    world.read_value()
                    world.read_value()
                    world.kernel_of("aten::histc", ADD, 12, host=30)
                    world.copied("DtoH", 512)
                    world.idle(60)
        update(world, "Adam", dur=300)
    return world


def _volumes() -> Clocked:
    """MONAI's spleen segmentation before its acceleration: volumes are cropped and augmented in the training process."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(310_000)
        world.copied("HtoD", 4 * 96 * 96 * 96 * 4)
        for _ in range(18):
            world.kernel_of("aten::conv3d/aten::convolution/aten::cudnn_convolution", CONV_3D, 2_400, host=60)
            world.kernel_of("aten::instance_norm/aten::batch_norm/aten::cudnn_batch_norm", ADD, 300, host=60)
        blocks_back(world, 18, 30)
        update_foreach(world, "Adam", passes=9, dur=400)
        world.read_value()
    return world


def _gathered_to_generate() -> Clocked:
    """safe-rlhf: generate() under ZeRO-3 with synced_gpus: all weights are gathered for each token."""
    world = Clocked(top=RANKS, marks=False)
    for _ in world.steps(12):
        for _ in range(8):
            end = world.collective("_allgather_base", 1_300, kernel=GATHER, after=world.busy_until.get(7, 0))
            world.busy_until[7] = end
            world.kernel_of("aten::linear/aten::mm", NVJET, 70)
            world.kernel_of(
                SDPA, "void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>", 20, host=30
            )
            world.kernel_of("aten::linear/aten::mm", NVJET, 120)
        world.kernel_of("aten::argmax", ADD, 12)
        world.read_value()
    return world


def _buckets_copied() -> Clocked:
    """DDP copies each gradient into its bucket and back; gradient_as_bucket_view=True made RoBERTa 7 to 8 % faster."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        with world.inside("DistributedDataParallel.forward"):
            layers(world, 10)
        with world.backward():
            for _ in range(10):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                for _ in range(6):
                    with world.node("torch::autograd::AccumulateGrad"):
                        world.kernel_of("aten::mul", ADD, 30, host=16)
                world.collective("allreduce", 600, kernel=REDUCE, dtype="Float")
            with world.inside("torch.distributed.ddp.reducer::copy_bucket_to_grad"):
                for _ in range(60):
                    world.kernel_of("aten::copy_", "Memcpy DtoD (Device -> Device)", 30, host=12)
        update(world)
    return world


def _logged_across() -> Clocked:
    """Lightning, self.log(sync_dist=True) for two metrics in each step: two small reductions, each read at once."""
    world = Clocked(top=RANKS)
    for _ in world.steps(6):
        world.load(90, workers=6)
        blocks(world, 16, 0.6)
        blocks_back(world, 16, 1.2)
        world.collective("allreduce", 400, kernel=REDUCE, after=world.busy_until[7], dtype="Float")
        world.busy_until[7] = max(world.busy_until.values())
        update(world, dur=300)
        for _ in range(2):
            end = world.collective("allreduce", 25, kernel=REDUCE, after=world.busy_until[7], elements=1, dtype="Float")
            world.busy_until[7] = end
            world.read_value()
            world.idle(120)
    return world


STORIES = (
    Story(
        "thread that pins holds Python's lock", "vision, self-supervised", GITHUB + "pytorch/pytorch/issues/77139",
        "bubbles of 50 ms: the loop's threads stand still while the pinning thread holds the lock; nothing to launch faster",
        _frozen_out, bound=("python", "compute"), told=("PY001|PY005|ID003|PY004",),
        never=("GR004", "ID001", "DL001", "DL003", "~num_workers=(?!0)"),
    ),
    Story(
        "torch.tensor(n, device) in each step", "LLM serving", GITHUB + "sgl-project/sglang/pull/34782",
        "a number made on the host is sent, and waited for, while the host could launch: non_blocking from pinned memory",
        _tensor_of_a_number, bound=("sync", "copy", "launch", "python", "compute"),
        told=("XF001|XF003|XF004|XF007|SY003", "~non_blocking|device="),
        never=("~optimizer", "~zero_grad", "~DataLoader"),
    ),
    Story(
        "constants made in the loss", "chemistry", GITHUB + "deepmodeling/deepmd-kit/pull/3421",
        "torch.tensor(constant) in the forward pass copies and waits; made once, or on the device",
        _constants, told=("XF003|XF004",), never=("DL001", "~pin_memory=True"),
    ),
    Story(
        "strided view of pinned memory", "LLM serving", GITHUB + "vllm-project/vllm/pull/51841",
        "the copy's call waits for all that is queued, though its buffer is pinned",
        _strided, bound=("sync", "copy", "launch", "python", "compute"), never=("XF001", "~pin_memory=True", "~DataLoader"),
    ),
    Story(
        "sizes of an exchange read each layer", "LLM pretraining, EP", GITHUB + "pytorch/torchtitan/issues/1968",
        "the counts of tokens go to the host before each all-to-all; the device waits for what follows",
        _splits, told=("SY002|SY001",), never=("~bucket_cap_mb", "DL001"),
    ),
    Story(
        "sequential offload", "diffusion", GITHUB + "huggingface/diffusers/issues/2266",
        "weights are sent for each call; keep them on the device, or offload whole models",
        _sequential_offload, bound=("copy",), told=("XF001|XF002",), never=("~[Bb]atches? (?:are|travel|is)", "~DataLoader"),
    ),
    Story(
        "activations offloaded beside compute", "LLM fine-tuning", GITHUB + "pytorch/torchtitan/pull/2581",
        "the copies overlap with compute at near-zero overhead: nothing to gain from them",
        _activations_out, bound=("compute",), never=("SY002", "XF001", "XF002", "XF007", "~DataLoader"),
    ),
    Story(
        "memory pinned for each activation", "LLM fine-tuning", GITHUB + "meta-pytorch/torchtune/issues/2076",
        "pinned memory is allocated on the fly, which waits for the device: allocate once",
        _pinned_anew, bound=("allocator", "sync", "python", "launch"), told=("~cudaHostAlloc|pinned",),
        never=("GR004", "~empty_cache"),
    ),
    Story(
        "allocations retried under FSDP", "LLM pretraining, FSDP", GITHUB + "pytorch/pytorch/issues/104509",
        "cudaMalloc retries; limit_all_gathers=True took them away",
        _retried, bound=("allocator",), told=("ME001", "~limit_all_gathers"), never=("GR004", "~bucket_cap_mb"),
    ),
    Story(
        "wandb.watch", "vision", GITHUB + "wandb/wandb/issues/2268",
        "hooks query all gradients: log less often",
        _watched, bound=("sync", "launch", "python", "mixed"), told=("SY001|SY002",), never=("DL001",),
    ),
    Story(
        "MONAI, volumes in the process", "medical, 3D",
        GITHUB + "Project-MONAI/tutorials/blob/main/acceleration/fast_model_training_guide.md",
        "loading and random transforms in the training process take most of the step: cache, workers",
        _volumes, bound=("input",), told=("DL001|DL002", "~num_workers"), never=("GR004", "CP001"),
    ),
    Story(
        "generate() under ZeRO-3", "RLHF", GITHUB + "PKU-Alignment/safe-rlhf/issues/40",
        "each token gathers all weights",
        _gathered_to_generate, bound=("communication",), told=("CO001",), never=("~bucket_cap_mb", "~optimizer", "GR004"),
    ),
    Story(
        "gradients copied into buckets", "NLP, DDP", GITHUB + "pytorch/pytorch/pull/41954",
        "gradients are copied to buckets and back: gradient_as_bucket_view=True, 7 to 8 %",
        _buckets_copied, bound=("compute", "communication", "mixed"), told=("~gradient_as_bucket_view",), never=("DL001", "GR004"),
    ),
    Story(
        "metrics reduced in each step", "vision, DDP, Lightning", GITHUB + "sb-ai-lab/RePlay/pull/100",
        "two metrics are reduced over all ranks in each step, and read: once an epoch",
        _logged_across, bound=("sync", "launch", "compute", "python", "communication", "mixed"), told=("SY001",), never=("~TF32",),
    ),
)  # fmt: skip
