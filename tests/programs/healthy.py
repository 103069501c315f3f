"""Healthy training loops: nothing in them is worth a change, so nothing may be found that saves a tenth of the step."""

from __future__ import annotations

from collections.abc import Callable

from building.builders import AUTOGRAD, CUDA_DEVICE, TraceBuilder
from building.dialects import repeated_ids, rocm, torch_1_9

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_align8_cublas"
ATTENTION = (
    "pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 32, 4, cutlass::bfloat16_t>>"
)
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl<c10::BFloat16>>(p)"
FUSED = "triton_poi_fused_add_gelu_native_layer_norm_0"
UPDATE = "void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(p)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEPS = 5
STEP = 100_000
# How far the device lags behind the host: the queue is filled.
LAG = 8_000


def _layer(builder: TraceBuilder, at: float, clock: float, *, compiled: bool) -> float:
    """A layer's kernels, 11.5 ms of them back to back from `clock` on, launched by the host from `at` on; when they end."""
    kernels = (
        ("aten::addmm", GEMM, 6_000),
        ("aten::_scaled_dot_product_flash_attention", ATTENTION, 2_500),
        ("aten::addmm", GEMM, 2_600),
        ("aten::gelu", FUSED if compiled else POINTWISE, 400),
    )
    for index, (op, name, dur) in enumerate(kernels):
        many = {"blocks per SM": 16.0, "grid": [2_112, 1, 1], "block": [256, 1, 1]}
        builder.launch(at + 300 * index, kernel_start=clock, kernel_dur=dur, name=name, op=op, call_dur=40, **many)
        clock += dur
    return clock


def training(*, compiled: bool = False, ranks: int = 1, device: dict[str, object] | None = None) -> TraceBuilder:
    """A transformer that keeps its device busy: fast loader, pinned copies beside compute, fused optimizer, hidden all-reduces."""
    top: dict[str, object] = {"deviceProperties": [device or CUDA_DEVICE]}
    if ranks > 1:
        top["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": ranks}
    builder = TraceBuilder(top=top)
    clock = float(LAG)
    for number in range(STEPS):
        at = float(number * STEP)
        builder.step(number, at, STEP).loader(at + 10, 150, workers=4)
        builder.copy("HtoD", at + 200, 15, start=at + LAG + 1_000, dur=900, size=8 << 20, pinned=True, stream=20)
        for layer in range(8):
            clock = _layer(builder, at + 400 + 2_000 * layer, clock, compiled=compiled)
            if ranks > 1:
                builder.annotation("nccl:all_reduce", at + 2_000 + 2_000 * layer, 60, thread=AUTOGRAD)
                builder.launch(
                    at + 2_010 + 2_000 * layer,
                    kernel_start=clock - 6_000,
                    kernel_dur=5_000,
                    name=ALL_REDUCE,
                    op=None,
                    thread=AUTOGRAD,
                    stream=30,
                )
        builder.zero_grad(at + 17_000, 50)
        builder.optimizer(at + 17_500, 300)
        builder.op("aten::_fused_adamw_", at + 17_550, 200)
        builder.launch(at + 17_600, kernel_start=clock, kernel_dur=7_950, name=UPDATE, op=None)
        clock += 7_950
    return builder


def waiting_at_the_end() -> TraceBuilder:
    """As `training`, with the loss read once a step while the device has work for the rest of it: the read is free."""
    builder = training()
    for number in range(STEPS):
        at = float(number * STEP)
        builder.op("aten::item", at + 20_000, 70_000)
        builder.op("aten::_local_scalar_dense", at + 20_001, 69_990)
        builder.copy("DtoH", at + 20_010, 69_000, start=at + 89_000, dur=2, size=4, op=None, stream=31)
    return builder


def behind_a_backlog() -> TraceBuilder:
    """The same, recorded while the device still has work for 160 ms from before, which is not in the recording."""
    builder = training()
    for event in builder.events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["ts"] += 160_000
    return builder


def small_losses() -> TraceBuilder:
    """A loop as most are: busy for 91 %, with a little waiting for data, copies, Python and a read of the loss in every step."""
    builder = TraceBuilder()
    for number in range(STEPS):
        at = float(number * STEP)
        builder.step(number, at, STEP).loader(at, 2_500, workers=4)
        builder.copy("HtoD", at + 2_500, 1_500, start=at + 2_600, dur=1_300, size=16 << 20, pinned=True)
        clock = at + 4_200
        for layer in range(7):
            clock = _layer(builder, at + 4_190 + 2_000 * layer, clock, compiled=False)
        builder.optimizer(at + 84_000, 2_000)
        builder.op("aten::_fused_adamw_", at + 84_100, 200)
        builder.launch(at + 84_150, kernel_start=clock, kernel_dur=11_000, name=UPDATE, op=None)
        clock += 11_000
        builder.op("aten::item", clock - 2_000, 2_100)
        builder.op("aten::_local_scalar_dense", clock - 1_999, 2_090)
        builder.copy("DtoH", clock - 1_990, 2_050, start=clock + 20, dur=2, size=4, op=None)
    return builder


def replayed() -> TraceBuilder:
    """One CUDA graph a step, launched while the one before still runs."""
    builder = TraceBuilder()
    clock = float(LAG)
    for number in range(STEPS):
        at = float(number * STEP)
        builder.step(number, at, STEP).loader(at + 10, 150, workers=4)
        builder.copy("HtoD", at + 200, 15, start=at + LAG + 1_000, dur=900, size=8 << 20, pinned=True, stream=20)
        call = builder.runtime("cudaGraphLaunch", at + 500, 200)
        for index in range(40):
            name = (GEMM, ATTENTION, FUSED, GEMM)[index % 4]
            builder.kernel(name, clock, 2_495, correlation=call, **{"blocks per SM": 16.0})
            clock += 2_500
    return builder


def on_the_cpu() -> TraceBuilder:
    """No device: long ops one after the other, a loader that is ready, a foreach optimizer."""
    builder = TraceBuilder(None, advisor={"torch_threads": 4, "usable_cores": 4})
    for number in range(STEPS):
        at = float(number * STEP)
        builder.step(number, at, STEP).loader(at + 10, 200, workers=2)
        for index in range(9):
            name = ("aten::convolution", "aten::linear", "aten::relu_", "ConvolutionBackward0")[index % 4]
            builder.op(name, at + 300 + 10_500 * index, 10_480)
        builder.optimizer(at + 95_000, 4_900)
        builder.op("aten::_fused_adamw_", at + 95_020, 4_860)
    return builder


def on_a_slow_core() -> TraceBuilder:
    """The same with more and smaller ops, on a core that others use, too: the way from one to the next takes 0.2 ms."""
    builder = TraceBuilder(None, advisor={"python_loop": {"turns": 10_000, "mean_ns": 700_000}})
    names = (
        "linear",
        "relu",
        "layer_norm",
        "matmul",
        "softmax",
        "dropout",
        "gelu",
        "cat",
        "mean",
        "sub",
        "exp",
        "conv2d",
    )
    for number in range(STEPS):
        at = float(number * 24_200)
        builder.step(number, at, 24_200).loader(at, 200)
        for index, name in enumerate(names):
            builder.op(f"aten::{name}", at + 400 + 2_000 * index, 1_800)
    return builder


def _v100() -> TraceBuilder:
    """Half precision on an older card, as torch 1.9 writes it."""
    builder = training(device={**CUDA_DEVICE, "name": "Tesla V100", "computeMajor": 7, "numSms": 80})
    for event in builder.events:
        if event["name"] == GEMM:
            event["name"] = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn"
    return torch_1_9(builder)


HEALTHY: dict[str, Callable[[], TraceBuilder]] = {
    "eager on CUDA": training,
    "compiled": lambda: training(compiled=True),
    "data parallel": lambda: training(ranks=8),
    "reads its loss": waiting_at_the_end,
    "behind a backlog": behind_a_backlog,
    "small losses": small_losses,
    "CUDA graph": replayed,
    "repeated ids": lambda: repeated_ids(training()),
    "torch 1.9 on a V100": _v100,
    "ROCm": lambda: rocm(training()),
    "ROCm, data parallel": lambda: rocm(training(ranks=8)),
    "CPU": on_the_cpu,
    "slow core": on_a_slow_core,
}
# What is true of healthy loops all the same, and says so without a saving.
TRUE_OF_HEALTHY: dict[str, tuple[str, ...]] = {
    **{name: ("KE004",) for name in HEALTHY if name not in ("CPU", "slow core", "small losses")},
    "repeated ids": ("KE004", "PG007"),
    "torch 1.9 on a V100": ("KE004", "PG011"),
}
