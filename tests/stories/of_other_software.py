"""Stories of training on other devices and with other libraries, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm, torch_1_9
from building.other_devices import xpu
from stories.models import (
    ADD,
    BATCH_NORM,
    CONV,
    CONV_BACK,
    CONV_OPS,
    FUSED_ADAM,
    GATHER,
    NORM_OPS,
    RANKS,
    RELU,
    layer,
    layers,
    update,
)
from stories.story import GITHUB, Story

MI250X = {
    "id": 0, "name": "AMD Instinct MI250X", "totalGlobalMem": 68_702_699_520, "computeMajor": 9, "computeMinor": 0,
    "warpSize": 64, "numSms": 110,
}  # fmt: skip
A770 = {"id": 0, "name": "Intel(R) Arc(TM) A770 Graphics", "total_memory": 16_225_243_136, "max_compute_units": 512}
OF_XPU = (
    "at::native::xpu::VectorizedElementwiseKernel<4, at::native::xpu::{}Functor<float>, at::detail::Array<char*, 3>>"
)
SCALED = "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
TRANSPOSED = (
    "void transformer_engine::detail::cast_transpose_fused_kernel<false, false, float, __nv_bfloat16, __nv_fp8_e4m3>(p)"
)
SCALES = (
    "void transformer_engine::delayed_scaling_recipe::amax_and_scale_update_impl::kernel_bulk(AmaxParams, int, float)"
)
REDUCED_1_9 = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
REDUCED = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
HOROVOD = 5_600


def _naive_convolutions() -> Clocked:
    """A speech model under AMP on an MI250X: MIOpen takes its naive convolutions; 6.4 times as slow as on an A100."""
    world = Clocked()
    naive = "naive_conv_nonpacked_{}_nchw_half_double_half"
    ops = "aten::conv1d/aten::convolution/aten::_convolution/aten::miopen_convolution"
    for _ in world.steps(4):
        world.load(120, workers=7)
        for dur in (14_000, 9_000, 5_000):
            world.kernel_of(ops, naive.format("fwd"), dur, host=50)
            world.kernel_of("aten::gelu", ADD, 300)
        layers(world, 6, 0.9)
        with world.backward():
            for _ in range(6):
                with world.node("MmBackward0"):
                    layer(world, 1.8, backward=True)
            for dur in (5_000, 9_000, 14_000):
                with world.node("ConvolutionBackward0"), world.within("aten::convolution_backward"):
                    world.kernel_of("aten::miopen_convolution_backward_input", naive.format("bwd"), dur * 1.2, host=50)
                    world.kernel_of("aten::miopen_convolution_backward_weight", naive.format("wrw"), dur * 1.3, host=50)
        update(world)
        world.read_value()
    rocm(world)
    world.top["deviceProperties"] = [MI250X]
    return world


def _hundreds_of_samples() -> Clocked:
    """A small network on a few hundred rows: 24 s on the CPU, 100 s on an Arc A770, whose kernels are a few microseconds."""
    world = Clocked()
    for _ in world.steps(8):
        for _ in range(4):
            world.kernel_of("aten::linear/aten::addmm", "gemm_kernel", 4, host=70, call=22)
            world.kernel_of("aten::relu/aten::clamp_min", OF_XPU.format("ClampMin"), 2, host=48, call=20)
        world.kernel_of(
            "aten::cross_entropy_loss/aten::log_softmax", "at::native::xpu::SoftmaxForwardKernel", 3, host=50
        )
        with world.backward():
            for _ in range(4):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", "gemm_kernel", 4, host=66, call=22)
                    world.kernel_of("aten::mm", "gemm_kernel", 4, host=66, call=22)
        begin = world.now
        for _ in range(8):
            for op in ("mul_", "add_", "addcmul_", "sqrt", "add_", "addcdiv_"):
                world.kernel_of(f"aten::_foreach_{op}", OF_XPU.format("Add"), 2, host=52, call=20)
        world.optimizer(begin, world.now - begin, "Adam")
        world.read_value()
    xpu(world)
    world.top["deviceProperties"] = [A770]
    return world


def _cycles_of_horovod() -> Clocked:
    """Horovod before 0.21: its thread looks every 5 ms for gradients that are ready; long pauses between reductions."""
    world = Clocked()

    def reduced(at: float, dur: float) -> float:
        now, world.now, world.thread = world.now, at, HOROVOD
        for _ in range(6):
            world.copied("DtoD", 10 << 20, blocks=False, rate=400_000, stream=20, path=None)
        end = world.kernel_of(None, REDUCED_1_9, dur, stream=20, after=world.busy_until[20])
        world.now, world.thread = now, 4242
        return end

    for _ in world.steps(5):
        world.load(90, workers=8)
        for _ in range(53):
            world.kernel_of(CONV_OPS, CONV, 420, host=60)
            world.kernel_of(NORM_OPS, BATCH_NORM, 150, host=50)
            world.kernel_of("aten::relu_", RELU, 60, host=18)
        begin = max(world.now, world.busy_until[7])
        with world.backward():
            for _ in range(53):
                with world.node("ReluBackward"):
                    world.kernel_of("aten::threshold_backward", RELU, 80)
                with world.node("CudnnBatchNormBackward"):
                    world.kernel_of("aten::cudnn_batch_norm_backward", BATCH_NORM.replace("fw_tr", "bw"), 260)
                with world.node("CudnnConvolutionBackward"):
                    world.kernel_of("aten::cudnn_convolution_backward", CONV_BACK, 840, host=50)
        done = world.busy_until[7]
        at = begin + 15_000
        while at < done:
            at = reduced(at, 5_000) + 5_000
        start = world.now
        for _ in range(3):
            at = reduced(max(at, done), 6_000) + 5_000
        world.now = at - 4_800
        for _ in range(161):
            world.kernel_of("aten::add_", ADD, 4, host=11)
            world.kernel_of("aten::mul_", ADD, 4, host=11)
            world.kernel_of("aten::add_", ADD, 4, host=11)
            world.kernel_of("aten::add_", ADD, 4, host=11)
        world.optimizer(start, world.now - start, "SGD")
    return torch_1_9(world)  # type: ignore[return-value]


def _scheduled_in_eights() -> Clocked:
    """te.Linear in FP8 on an H100: its forward pass takes 140 ms instead of 77, for the host is slow and the GPU idles in it."""
    world = Clocked()
    for _ in world.steps(3):
        world.kernel_of("TransformerEngine::fp8_amax_and_scale_update", SCALES, 12, host=60)
        for _ in range(280):
            with world.within("_LinearFunction"):
                world.idle(170)
                world.kernel_of("tex_ts::fp8_cast_transpose_fused", TRANSPOSED, 30, host=50)
                world.idle(80)
                world.kernel_of("tex_ts::fp8_cast_transpose_fused", TRANSPOSED, 36, host=50)
                world.idle(60)
                world.kernel_of("tex_ts::te_gemm_ts", SCALED, 170, host=60)
            world.kernel_of("aten::gelu", ADD, 20)
        with world.backward():
            for _ in range(280):
                with world.node("_LinearFunctionBackward"):
                    world.idle(120)
                    world.kernel_of("tex_ts::fp8_cast_transpose_bgrad", TRANSPOSED, 40, host=50)
                    world.kernel_of("tex_ts::te_gemm_ts", SCALED, 240, host=55)
                    world.kernel_of("tex_ts::te_gemm_ts", SCALED, 240, host=55)
                with world.node("GeluBackward0"):
                    world.kernel_of("aten::gelu_backward", ADD, 24)
        update(world)
        world.read_value()
    return world


def _serialised_zero() -> Clocked:
    """DeepSpeed's ZeRO 2, overlap_comm on: the backward pass waits for the bucket before at each new one, all the same."""
    world = Clocked(top=RANKS)
    adam = FUSED_ADAM.replace("FusedAdamMathFunctor<float, 4>", "AdamFunctor<float, float, int>")
    for _ in world.steps(4):
        layers(world, 16)
        with world.backward():
            for _ in range(8):
                for _ in range(2):
                    with world.node("MmBackward0"):
                        layer(world, 2, backward=True)
                with (
                    world.node("torch::autograd::AccumulateGrad"),
                    world.stack(
                        "deepspeed/runtime/zero/stage_1_and_2.py(1004): reduce_ready_partitions_and_remove_grads",
                        "deepspeed/runtime/zero/stage_1_and_2.py(1154): average_tensor",
                    ),
                ):
                    end = world.collective(
                        "allreduce",
                        3_400,
                        kernel=REDUCED,
                        stream=24,
                        after=world.busy_until[7],
                        elements=220 << 20,
                        size=8,
                    )
                    world.busy_until[7] = end + 2
        begin = world.now
        with world.stack("deepspeed/runtime/zero/stage_1_and_2.py(1877): step"):
            for _ in range(4):
                world.kernel_of(None, adam, 300)
            world.collective(
                "_allgather_base",
                4_200,
                kernel=GATHER,
                stream=28,
                after=world.busy_until[7],
                elements=440 << 20,
                size=8,
            )
        world.busy_until[7] = world.busy_until[28] + 2
        world.optimizer(begin, world.now - begin, "FusedAdam")
        world.read_value()
    return world


STORIES = (
    Story(
        "naive convolutions of MIOpen", "speech, ROCm, AMP", GITHUB + "ROCm/MIOpen/issues/3310",
        "naive kernels are MIOpen's last resort: another shape, layout or format, or its own search", _naive_convolutions,
        bound=("compute",), told=("~naive_conv",),
        never=("KE004", "PR001", "PR002", "GR004", "DL001", "~TF32", "~cuDNN", "~[Tt]ensor [Cc]ore", "~nvidia"),
    ),
    Story(
        "hundreds of rows on an Arc A770", "tabular, XPU", GITHUB + "intel/intel-extension-for-pytorch/issues/565",
        "kernels are shorter than their launches: larger batches, or the CPU", _hundreds_of_samples, bound=("launch",),
        told=("ID001", "~batch"), never=("~[Cc]uda|CUDA", "~cudnn", "GR004", "DL001", "PR001", "PR002", "XF001"),
    ),
    Story(
        "Horovod's cycles", "vision, Horovod, torch 1.9", GITHUB + "horovod/horovod/pull/2468",
        "reductions behind the backward pass, with pauses between: a shorter cycle, a larger fusion buffer", _cycles_of_horovod,
        bound=("communication", "mixed", "compute"), told=("CO001|CO002",),
        never=("~bucket_cap_mb", "~no_sync", "~gradient_as_bucket_view", "~DistributedDataParallel\\(", "~fully_shard",
               "~comm_hook", "DL001", "OP001", "~fused=True", "XF005", "GR004"),
    ),
    Story(
        "te.Linear on the host", "LLM pretraining, FP8", GITHUB + "NVIDIA/TransformerEngine/issues/761",
        "the host schedules FP8 layers more slowly than the device works them off: CUDA graphs, larger work", _scheduled_in_eights,
        told=("ID001|PY001|ID002", "~graph"), never=("PR001", "PR002", "PR004", "DL001", "OP001", "~autocast"),
    ),
    Story(
        "ZeRO 2 waits bucket by bucket", "LLM fine-tuning, ZeRO-2", GITHUB + "deepspeedai/DeepSpeed/issues/8364",
        "reductions are not beside the backward pass: overlap_comm, buckets of DeepSpeed", _serialised_zero,
        bound=("communication", "mixed", "compute"), told=("CO001|CO002", "~overlap_comm"),
        never=("~bucket_cap_mb", "~no_sync", "~gradient_as_bucket_view", "~comm_hook|compress_hook", "~fully_shard\\(",
               "~DistributedDataParallel\\(",
               "~set_modules_to_forward_prefetch", "DL001", "GR004"),
    ),
)  # fmt: skip
