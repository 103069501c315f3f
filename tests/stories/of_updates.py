"""Stories of what follows the backward pass: scalers, clipping, optimizers, averages; written before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import torch_1_9
from building.other_devices import mps
from stories.models import (
    ADD,
    AMPERE,
    FOREACH,
    SGEMM,
    blocks,
    blocks_back,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
    update_foreach,
)
from stories.story import Story

GITHUB = "https://github.com/"
RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
OLD_GATHER = "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)"
OLD_SCATTER = "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)"
NORM_OF = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>>>"
)
BLOCKWISE = "void kOptimizerStatic8bit1StateBlockwise<__nv_bfloat16, 1, 256, 1>(__nv_bfloat16*, __nv_bfloat16 const*)"


def _scale_read() -> Clocked:
    """Accelerate reads the loss scale in front of each update and behind it: each read waits for all that is queued."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(450, workers=4)
        world.copied("HtoD", 8 << 20, pinned=True)
        world.idle(350)
        blocks(world, 20, 0.5)
        world.kernel_of("aten::cross_entropy_loss/aten::nll_loss_nd/aten::nll_loss", ADD, 6)
        blocks_back(world, 20, 1.0)
        world.idle(150)
        world.read_value()
        for _ in range(2):
            world.kernel_of("aten::_amp_foreach_non_finite_check_and_unscale_", FOREACH, 30, host=40)
        world.read_value()
        world.idle(400)
        update_foreach(world, "AdamW", passes=10, dur=300)
        world.kernel_of("aten::_amp_update_scale_", "at::native::amp_update_scale_cuda_kernel(float*, int*)", 3)
        world.read_value()
        world.idle(300)
    return world


def _adam_of_host_shards() -> Clocked:
    """FSDP with CPUOffload on torch 1.11: Adam of the sharded parameters runs op by op on the CPU, 3 to 10 times a step."""
    world = Clocked(top=RANKS)

    def gathered() -> None:
        world.copied("HtoD", 24 << 20, pinned=True)
        world.busy_until[7] = world.collective(
            "_allgather_base",
            900,
            kernel=OLD_GATHER,
            after=world.busy_until[7],
            elements=50 << 20,
            dtype="Float",
            size=8,
        )

    for _ in world.steps(4):
        for _ in range(6):
            gathered()
            perceptron(world, 4, 700, name=SGEMM)
        for _ in range(6):
            gathered()
            perceptron_back(world, 4, 700, name=SGEMM)
            world.collective(
                "_reduce_scatter_base", 900, kernel=OLD_SCATTER, after=world.busy_until[7], dtype="Float", size=8
            )
            world.copied("DtoH", 24 << 20, pinned=True, stream=24)
        world.synchronize("cudaStreamSynchronize")
        begin = world.now
        for _ in range(7):
            for op in ("mul_", "add_", "mul_", "addcmul_", "sqrt", "div", "add_", "addcdiv_"):
                world.host_op(f"aten::{op}", 6_500)
        world.optimizer(begin, world.now - begin, "Adam")
    return torch_1_9(world)  # type: ignore[return-value]


def _orthogonalised() -> Clocked:
    """MuSGD of YOLO26n: each of 126 matrices is orthogonalised by itself, thousands of tiny kernels; 62 ms, batched 8."""
    world = Clocked()
    for _ in world.steps(3):
        world.load(90, workers=8)
        world.copied("HtoD", 12 << 20, pinned=True)
        blocks(world, 60)
        blocks_back(world, 60)
        begin = world.now
        for _ in range(126):
            world.kernel_of("aten::lerp_", ADD, 2)
            world.kernel_of("aten::lerp", ADD, 2)
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", ADD, 2, host=20)
            world.kernel_of("aten::linalg_vector_norm", NORM_OF, 4, host=16)
            world.kernel_of("aten::div", ADD, 2)
            for _ in range(5):
                world.kernel_of("aten::matmul/aten::mm", AMPERE, 5, host=18)
                world.kernel_of("aten::matmul/aten::mm", AMPERE, 5, host=18)
                world.kernel_of("aten::add", ADD, 2)
                world.kernel_of("aten::matmul/aten::mm", AMPERE, 5, host=18)
                world.kernel_of("aten::add", ADD, 2)
            world.kernel_of("aten::add_", ADD, 2)
            world.idle(15)
        for _ in range(240):
            world.kernel_of("aten::mul_", ADD, 2)
            world.kernel_of("aten::add_", ADD, 2)
            world.kernel_of("aten::add_", ADD, 2)
        world.optimizer(begin, world.now - begin, "MuSGD")
    return world


def _clipped_as_dtensors() -> Clocked:
    """Gradients under FSDP2 are clipped as DTensors, each op of each goes through their dispatch in Python: 93 ms, local 4."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        world.load(80, workers=4)
        layers(world, 12)
        layers_back(world, 12)
        for _ in range(300):
            world.idle(140)
            world.kernel_of("aten::linalg_vector_norm", NORM_OF, 5, host=16)
        world.kernel_of("aten::stack/aten::cat", ADD, 5)
        world.kernel_of("aten::linalg_vector_norm", NORM_OF, 4)
        for _ in range(300):
            world.idle(130)
            world.kernel_of("aten::mul_", ADD, 4)
        update(world, dur=900)
    return world


def _recompiled_update() -> Clocked:
    """The step of a compiled AdamW is compiled again whenever the scheduler sets another learning rate, a number in Python."""
    world = Clocked()
    for number in world.steps(6):
        world.load(70, workers=4)
        perceptron(world, 16, 120)
        perceptron_back(world, 16, 120)
        begin = world.now
        with world.inside("_compile.compile_inner (dynamo_timed)"), world.inside("entire_frame_compile (dynamo_timed)"):
            world.idle(70_000)
            with world.inside("compile_fx_inner (dynamo_timed)"):
                world.idle(160_000)
        with world.within(f"Torch-Compiled Region: 0/{number}"), world.within("CompiledFxGraph fq3kx"):
            world.kernel_of("triton_for_fused_0", "triton_for_fused_0", 260, api="cuLaunchKernel", host=40)
        world.optimizer(begin, world.now - begin, "AdamW")
    return world


def _counters_on_device() -> Clocked:
    """The counters of AdamW's steps came back from an offload on the GPU: each update reads one for each parameter."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(70, workers=4)
        layers(world, 8, 0.5)
        layers_back(world, 8, 1.0)
        begin = world.now
        world.kernel_of("aten::_foreach_add_", FOREACH, 12, host=90)
        for _ in range(512):
            world.read_value()
            world.idle(3)
        for op in ("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"):
            world.kernel_of(f"aten::_foreach_{op}", FOREACH, 120, host=260)
        world.optimizer(begin, world.now - begin, "AdamW")
    return world


def _eight_bits_and_waits() -> Clocked:
    """bitsandbytes calls torch.cuda.synchronize() behind the update of each parameter."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(70, workers=4)
        layers(world, 8, 0.5)
        layers_back(world, 8, 1.0)
        begin = world.now
        for _ in range(220):
            world.idle(45)
            world.kernel_of(None, BLOCKWISE, 22)
            world.synchronize()
        world.optimizer(begin, world.now - begin, "AdamW8bit")
    return world


def _average_on_apple() -> Clocked:
    """YOLO26n on an M-series: the average of the weights goes tensor by tensor, 594 of them twice; 13 ms, together 6."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(200, workers=4)
        world.host_op("aten::to/aten::_to_copy/aten::copy_", 300)
        for _ in range(40):
            world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::_mps_convolution", 160)
            world.host_op("aten::batch_norm/aten::_batch_norm_impl_index/aten::native_batch_norm", 90)
            world.host_op("aten::silu_", 30)
        with world.backward():
            for _ in range(40):
                with world.node("SiluBackward0"):
                    world.host_op("aten::silu_backward", 40)
                with world.node("NativeBatchNormBackward0"):
                    world.host_op("aten::native_batch_norm_backward", 120)
                with world.node("ConvolutionBackward0"):
                    world.host_op("aten::convolution_backward/aten::mps_convolution_backward", 280)
        begin = world.now
        for _ in range(12):
            world.host_op("aten::_foreach_add_", 260)
        world.optimizer(begin, world.now - begin, "SGD")
        for _ in range(594):
            world.host_op("aten::mul_", 10)
            world.host_op("aten::mul", 7)
            world.host_op("aten::add_", 10)
    return mps(world)  # type: ignore[return-value]


STORIES = (
    Story(
        "loss scale read around each update", "vision, AMP, Accelerate", GITHUB + "huggingface/accelerate/issues/1714",
        "scaler.get_scale() waits for the device in front of the update and behind it: keep it there",
        _scale_read, bound=("sync", "launch", "mixed", "compute", "python"), told=("SY001", "~[Ss]caler"),
        never=("DL001", "DL002", "PY002", "GR004"),
    ),
    Story(
        "FSDP's shards updated on the CPU", "torch 1.11, FSDP", GITHUB + "pytorch/pytorch/issues/74588",
        "Adam runs on the CPU op by op: a CPU Adam of its own, or no offload of parameters", _adam_of_host_shards,
        told=("OP005", "~CPU"), never=("DL001", "GR004", "OP001", "PY001", "~foreach=True", "ID001"),
    ),
    Story(
        "matrices orthogonalised one by one", "detection, MuSGD", GITHUB + "ultralytics/ultralytics/pull/25288",
        "Newton-Schulz for each matrix in tiny kernels: matrices of a shape together", _orthogonalised, bound=("launch",),
        told=("OP001|PY003|ID001", "~MuSGD"), never=("~fused=True|foreach=True|capturable", "DL001", "PR001", "PR003", "KE005"),
    ),
    Story(
        "clipping of DTensors", "recommender, FSDP2", GITHUB + "meta-pytorch/torchrec/pull/2091",
        "ops on DTensors are dispatched in Python, 150 us each: clip the local parts together", _clipped_as_dtensors,
        told=("OP004|PY003|ID001|PY001", "~clip"), never=("DL001", "~num_workers|DataLoader\\(", "GR004", "PR003"),
    ),
    Story(
        "update compiled for each learning rate", "compiled optimizer", GITHUB + "pytorch/pytorch/issues/120934",
        "the learning rate is a number that is guarded: a tensor instead", _recompiled_update, bound=("compile",),
        told=("GR003", "~learning rate|\\blr\\b"), never=("~[Pp]ad ", "DL001", "OP001", "OP002"),
    ),
    Story(
        "counters of steps on the GPU", "LLM, RL", GITHUB + "Tencent-Hunyuan/UniRL/pull/441",
        "the update reads the counter of each parameter: keep `step` on the host", _counters_on_device,
        told=("SY001", "~AdamW"), never=("PY002", "DL001", "GR004", "OP001"),
    ),
    Story(
        "8-bit updates and a wait for each", "LLM fine-tuning", GITHUB + "bitsandbytes-foundation/bitsandbytes/pull/2050",
        "torch.cuda.synchronize() for each parameter: on the current stream without", _eight_bits_and_waits,
        told=("SY003", "~AdamW8bit"), never=("~foreach=True", "DL001", "GR004", "PG005"),
    ),
    Story(
        "average of weights on Apple's GPU", "detection, MPS", GITHUB + "ultralytics/ultralytics/pull/25315",
        "1,188 tiny ops a step: torch._foreach_lerp_", _average_on_apple,
        told=("PY003", "~_foreach_"), never=("~CUDA graph|torch\\.cuda|cudaLaunch|nvidia|TF32", "DL001", "CP001", "GR004", "OP001"),
    ),
)  # fmt: skip
