"""Stories of training whose host, copies or other ranks hold it up, or do not; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories import devices
from stories.models import (
    ADD,
    BATCH_NORM,
    CONV_32,
    CONV_OPS,
    GATHER,
    NORM_OPS,
    NVJET,
    RANKS,
    RELU,
    layer,
    layers,
    layers_back,
    update,
    update_foreach,
)
from stories.story import Story

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TRANSPOSED = "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x16_stage4_warpsize2x2x1_g1"


def _tokenised_in_the_loop() -> Clocked:
    """A stream of texts is tokenised by the loop itself, batch by batch, while the device waits."""
    world = Clocked()
    for _ in world.steps(5):
        with world.stack(
            "train.py(58): <module>",
            "train.py(31): encode",
            "transformers/tokenization_utils_base.py(2877): __call__",
            "transformers/tokenization_utils_fast.py(504): _batch_encode_plus",
            "<built-in method encode_batch of tokenizers.Tokenizer object at 0x7f>",
        ):
            world.idle(26_000)
        world.host_op("aten::tensor/aten::to", 40)
        world.copied("HtoD", 256 << 10)
        with world.stack("train.py(58): <module>", "train.py(44): step"):
            layers(world, 8)
            layers_back(world, 8)
            update(world)
            world.read_value()
    return world


def _shards_in_memory_of_the_host() -> Clocked:
    """FSDP2 with CPUOffloadPolicy: shards travel for each layer, and AdamW runs on the CPU for most of the step."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        world.load(60, workers=4)
        for index in range(8):
            with world.inside(f"FSDP::pre_forward (layers.{index})"):
                end = world.copied("HtoD", 24 << 20, pinned=True, stream=18, rate=24_000)
                end = world.collective("_allgather_base", 700, kernel=GATHER, after=end, size=8)
                world.kernel_of("fsdp::split_with_sizes_copy", ADD, 40, after=end)
            layer(world)
        with world.backward():
            for index in range(8):
                with world.inside(f"FSDP::pre_backward (layers.{7 - index})"):
                    end = world.copied("HtoD", 24 << 20, pinned=True, stream=18, rate=24_000)
                    end = world.collective("_allgather_base", 700, kernel=GATHER, after=end, size=8)
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True, after=end)
                with world.inside(f"FSDP::post_backward_reduce (layers.{7 - index})"):
                    made = world.busy_until[7]
                    end = world.collective(
                        "_reduce_scatter_base", 800, kernel=SCATTER, stream=22, after=made, dtype="Float", size=8
                    )
                    world.busy_until[23] = end
                    world.copied("DtoH", 48 << 20, pinned=True, stream=23, rate=24_000)
        world.synchronize("cudaEventSynchronize")
        begin = world.now
        for _ in range(8):
            for op in ("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"):
                world.host_op(f"aten::_foreach_{op}", 2_600)
        world.optimizer(begin, world.now - begin, "AdamW")
    return world


def _saved_on_cpu() -> Clocked:
    """save_on_cpu() without pinned memory: each activation goes to the host in a call that waits, and comes back in one."""
    world = Clocked()
    frames = ("train.py(71): <module>", "train.py(40): step", "torch/autograd/graph.py(291): pack_to_cpu")
    for _ in world.steps(4):
        world.load(80, workers=4)
        for _ in range(12):
            layer(world)
            with world.stack(*frames):
                world.copied("DtoH", 48 << 20, rate=11_000)
        with world.backward():
            for _ in range(12):
                with world.node("MmBackward0"):
                    world.copied("HtoD", 48 << 20, rate=9_000)
                    layer(world, 2, backward=True)
        update(world)
    return world


def _replayed_whole() -> Clocked:
    """A whole training step in one captured graph: the device works all the time, and the host copies a batch and launches."""
    world = Clocked()
    kernels = [(name, dur) for _ in range(60) for name, dur in ((NVJET, 180), (ADD, 20), (NVJET, 140), (ADD, 12))]
    for _ in world.steps(6):
        world.load(70, workers=8)
        world.copied("HtoD", 4 << 20, pinned=True, path="aten::copy_")
        world.graph(kernels)
    return world


def _waits_for_a_late_rank() -> Clocked:
    """One rank of eight: its all-reduce begins when its gradients are there, and lasts until a slow loader elsewhere is done."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(90, workers=8)
        world.copied("HtoD", 20 << 20, pinned=True)
        with world.inside("DistributedDataParallel.forward"):
            layers(world, 10)
        with world.backward():
            for index in range(10):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                if index in (4, 9):
                    made = world.busy_until[7]
                    end = world.collective(
                        "allreduce",
                        44_000 if index == 4 else 1_800,
                        kernel=REDUCE,
                        stream=21,
                        after=made,
                        dtype="Float",
                        size=8,
                    )
        world.busy_until[7] = max(world.busy_until[7], end)
        update(world, dur=900)
    return world


def _conv(world: Clocked, name: str, dur: float) -> None:
    world.kernel_of(CONV_OPS, name, dur, host=34)
    world.kernel_of(NORM_OPS, BATCH_NORM, dur / 5, host=30)
    world.kernel_of("aten::leaky_relu_", RELU, dur / 12)


def _back(world: Clocked, count: int, dur: float) -> None:
    with world.backward():
        for _ in range(count):
            with world.node("LeakyReluBackward0"):
                world.kernel_of("aten::leaky_relu_backward", RELU, dur / 12)
            with world.node("CudnnBatchNormBackward0"):
                world.kernel_of("aten::cudnn_batch_norm_backward", BATCH_NORM.replace("fw_tr", "bw"), dur / 5, host=30)
            with world.node("ConvolutionBackward0"):
                world.kernel_of("aten::convolution_backward", TRANSPOSED, 2 * dur, host=34)


def _faces() -> Clocked:
    """DCGAN: three backward passes and two Adams an iteration, six values read at its end; the device has work all along."""
    world = Clocked(marks=False, top=devices.of(devices.RTX_3090))
    for _ in range(5):
        world.load(120, workers=2)
        for number in range(2):
            world.copied("HtoD", 6 << 20, pinned=True) if not number else [_conv(world, CONV_32, 700) for _ in range(5)]
            for _ in range(5):
                _conv(world, CONV_32, 900)
            world.kernel_of("aten::binary_cross_entropy", ADD, 6)
            _back(world, 5, 900)
        update_foreach(world, "Adam", dur=300, host=40)
        for _ in range(5):
            _conv(world, CONV_32, 900)
        world.kernel_of("aten::binary_cross_entropy", ADD, 6)
        _back(world, 10, 800)
        update_foreach(world, "Adam", dur=300, host=40)
        for _ in range(6):
            world.read_value()
    return world


STORIES = (
    Story(
        "tokenised in the loop", "LLM fine-tuning, stream of texts", "https://huggingface.co/docs/datasets/stream",
        "the loop makes tokens itself while the device waits: in a data set's workers, or once before", _tokenised_in_the_loop,
        bound=("python", "mixed"), told=("PY001", "~tokeniz|encode"), never=("GR004", "PR001", "OP001", "GR005"),
    ),
    Story(
        "shards in the host's memory", "LLM fine-tuning, FSDP2, CPU offload",
        "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html",
        "the update runs on the CPU, and shards travel: no offloading where they fit", _shards_in_memory_of_the_host,
        bound=("launch",), told=("OP005", "~CPUOffloadPolicy"),
        never=("XF001", "~pin_memory=True", "DL001", "~bucket_cap_mb", "GR004", "~uint8"),
    ),
    Story(
        "activations saved on the CPU", "LLM, save_on_cpu", "https://docs.pytorch.org/docs/stable/autograd.html",
        "activations are copied blocking in both directions: pin_memory=True, or recompute", _saved_on_cpu,
        bound=("copy", "sync", "mixed"), told=("SY004|XF001|XF003", "~pack_to_cpu|save_on_cpu|activations"),
        never=("~DataLoader\\(", "~uint8", "DL001", "PR001"),
    ),
    Story(
        "a step in one graph", "LLM, CUDA graph of the step", "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "the device works all the time", _replayed_whole, bound=("compute",),
        never=("GR004", "ID001", "DL001", "XF001", "SY001", "PY001", "~reduce-overhead", "~make_graphed"),
    ),
    Story(
        "a rank that waits for a late one", "LLM pretraining, DDP, one rank", "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "the all-reduce lasts as long as the slowest rank needs: look at all ranks", _waits_for_a_late_rank,
        bound=("communication", "mixed"), told=("CO001|CO003", "~other ranks|late|all ranks"), 
        never=("DL001", "PR001", "~gradient compression"),
    ),
    Story(
        "faces of a GAN", "GAN, DCGAN", "https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html",
        "convolutions take it; values read at the end of an iteration cost little", _faces, bound=("compute",),
        told=("~onvolution",), never=("SY001", "DL001", "GR004", "~request", "OP001", "~inference_mode"),
    ),
)  # fmt: skip
