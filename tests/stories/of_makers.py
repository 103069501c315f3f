"""Stories of inference on AMD's, Intel's, Huawei's and Apple's devices and on CPUs, written down before the tool was asked."""

from __future__ import annotations

from contextlib import ExitStack

from building.clocked import Clocked
from building.dialects import rocm
from building.other_devices import ascend, mps, xpu
from stories.models import ADD, RELU
from stories.of_serving import OF_TRAINING
from stories.story import GITHUB, Story

NAVI31 = {
    "id": 0, "name": "AMD Radeon RX 7900 XTX", "totalGlobalMem": 25_753_026_560, "computeMajor": 11, "computeMinor": 0,
    "warpSize": 32, "numSms": 48,
}  # fmt: skip
STRIX = {
    "id": 0, "name": "AMD Radeon 8060S Graphics", "totalGlobalMem": 68_719_476_736, "computeMajor": 11, "computeMinor": 5,
    "warpSize": 32, "numSms": 20,
}  # fmt: skip
A770 = {"id": 0, "name": "Intel(R) Arc(TM) A770 Graphics", "total_memory": 16_225_243_136, "max_compute_units": 512}
MATMUL = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x32_MI16x16x1_SN"
OF_NVIDIA = ("~TF32", "~cuDNN|cudnn", "~CUDA_", "PR002")


def _columns_of_volumes() -> Clocked:
    """A video VAE on a 7900 XTX: MIOpen unfolds each 3-D convolution with Im3d2Col, 64 % of decoding; as 2-D ones 1.66 times."""
    world = Clocked("rocm", marks=False)
    ops = "aten::conv3d/aten::convolution/aten::_convolution/aten::miopen_convolution"
    for number in range(4):
        with world.marked(number), world.inside("vae.decode"):
            for _ in range(34):
                with ExitStack() as around:
                    for op in ops.split("/"):
                        around.enter_context(world.within(op))
                    world.kernel_of(None, "Im3d2Col", 5_200, api="hipExtModuleLaunchKernel")
                    world.kernel_of(None, MATMUL, 1_700, api="hipExtModuleLaunchKernel")
                world.kernel_of("aten::silu", RELU, 400)
                world.kernel_of(
                    "aten::group_norm/aten::native_group_norm",
                    RELU.replace("clamp_min_scalar", "group_norm"),
                    640,
                    host=40,
                )
            world.synchronize("cudaStreamSynchronize")
    rocm(world)
    world.top["deviceProperties"] = [NAVI31]
    return world


def _strided_attention() -> Clocked:
    """A video transformer on gfx1151: attention reads strided views of one projection; 64 s of attention, contiguous 21."""
    world = Clocked("rocm", marks=False)
    sdpa = "aten::scaled_dot_product_attention/aten::_scaled_dot_product_flash_attention/aten::_flash_attention_forward"
    for number in range(3):
        with world.marked(number):
            for _ in range(50):
                world.kernel_of("aten::linear/aten::addmm", MATMUL, 4_100)
                world.kernel_of(sdpa, "attn_fwd", 61_000, host=60, api="hipModuleLaunchKernel")
                world.kernel_of("aten::linear/aten::addmm", MATMUL, 1_400)
                world.kernel_of("aten::linear/aten::addmm", MATMUL, 5_500)
                world.kernel_of("aten::gelu", ADD, 700)
                world.kernel_of("aten::linear/aten::addmm", MATMUL, 5_500)
            world.synchronize("cudaStreamSynchronize")
    rocm(world)
    world.top["deviceProperties"] = [STRIX]
    return world


def _built_in_the_first_passes() -> Clocked:
    """Qwen2.5-0.5B on an Arc A770: attention's graph is built for each new shape in the first passes; warm it is fast enough."""
    world = Clocked(marks=False)
    fused = "aten::scaled_dot_product_attention/aten::_scaled_dot_product_fused_attention_overrideable"
    for token in range(24):
        for layer in range(24):
            for _ in range(3):
                world.kernel_of("aten::linear/aten::addmm", "gemm_kernel", 60, host=46, call=16)
            building = 240_000 if token < 2 and layer == 0 else 0
            world.kernel_of(fused, "micro_sdpa", 40, host=70 + building, call=16)
            for dur in (50, 150, 150):
                world.kernel_of("aten::linear/aten::mm", "gemm_kernel", dur, host=40, call=16)
            world.kernel_of(
                "aten::silu", "at::native::xpu::VectorizedElementwiseKernel<8, SiluFunctor>", 6, host=34, call=16
            )
        world.kernel_of("aten::linear/aten::mm", "gemm_kernel", 900, host=40, call=16)
        world.kernel_of("aten::argmax", "at::native::xpu::ReduceKernel<1, ArgMaxOps>", 20, host=50, call=16)
        world.read_value()
    xpu(world)
    world.top["deviceProperties"] = [A770]
    return world


def _free_between_ops() -> Clocked:
    """vLLM on two Ascend 910B3: of 832 us a layer the device is free for 591; with cudagraph_mode FULL_DECODE_ONLY no more."""
    world = Clocked(marks=False)
    kernels = (
        ("npu::npu_add_rms_norm", "AddRmsNorm", 9), ("aten::linear/aten::mm", "MatMulV3", 31), ("npu::npu_rotary_mul",
        "RotaryMul", 8),
        ("npu::_npu_reshape_and_cache", "ReshapeAndCacheNdKernel", 6), ("npu::_npu_paged_attention",
        "PagedAttentionMaskNdKernel", 38),
        ("aten::linear/aten::mm", "MatMulV3", 22), ("c10d::allreduce_", "hcom_allReduce__606_0_1", 24),
        ("npu::npu_moe_gating_top_k_softmax", "MoeGatingTopKSoftmax", 9), ("npu::npu_moe_init_routing", "MoeInitRouting", 8),
        ("npu::npu_grouped_matmul", "GroupedMatmul", 42), ("npu::npu_swiglu", "SwiGlu", 6),
        ("npu::npu_grouped_matmul", "GroupedMatmul", 30), ("npu::npu_moe_finalize_routing", "MoeFinalizeRoutingV2", 8),
    )  # fmt: skip
    for _ in range(6):
        for _ in range(48):
            for op, name, dur in kernels:
                world.kernel_of(op, name, dur, host=64, call=20)
        world.kernel_of("aten::argmax", "ArgMaxV2", 20, host=60)
        world.copied("DtoH", 256, path="aten::to/aten::_to_copy/aten::copy_")
    return ascend(world)  # type: ignore[return-value]


def _suppressed_on_the_cpu() -> Clocked:
    """micro-sam on an M1: boxes go to the CPU and back for nms, which Apple's backend lacks; 3.5 times as slow as on the CPU."""
    world = Clocked(None, marks=False)
    for number in range(8):
        with world.marked(number), world.inside("generate"):
            for _ in range(24):
                world.host_op("aten::linear/aten::_mps_linear", 70)
                world.host_op("aten::gelu", 30)
            for _ in range(16):
                with world.within("torchvision::nms"):
                    world.host_op("aten::to/aten::_to_copy/aten::copy_", 9_500)
                    world.host_op("aten::to/aten::_to_copy/aten::copy_", 240)
                    world.host_op("torchvision::nms", 900)
                    world.host_op("aten::to/aten::_to_copy/aten::copy_", 420)
                world.host_op("aten::index", 60)
    return mps(world)  # type: ignore[return-value]


def _fast_math_on_graviton() -> Clocked:
    """A tutorial's network on a Graviton3: addmm is 88 % of 100 passes; bfloat16 fast math of oneDNN makes it 2.2 times as fast."""
    world = Clocked(None, marks=False)
    shapes = {"Input Dims": [[1024], [256, 2048], [2048, 1024]], "Input type": ["float", "float", "float"]}
    for _ in range(40):
        with world.inside("mymodel_inference"):
            for dur in (11_000, 13_500, 12_600):
                with world.within("aten::linear"), world.within("aten::addmm", **shapes):
                    world.host_op("aten::expand", 6)
                    world.host_op("aten::copy_", 540)
                    world.now += dur
                    world.host_op("aten::resolve_conj", 3)
                world.host_op("aten::relu/aten::clamp_min", 1_480)
    return world


STORIES = (
    Story(
        "columns of volumes", "video, VAE, ROCm", GITHUB + "pytorch/pytorch/issues/146998",
        "MIOpen unfolds 3-D convolutions into columns, most of decoding: 2-D ones instead, or another version", _columns_of_volumes,
        bound=("compute",), told=("~Im3d2Col",), never=("GR004", "ID001", "KE001", *OF_NVIDIA, *OF_TRAINING),
    ),
    Story(
        "strided queries and keys", "video, ROCm", GITHUB + "Comfy-Org/ComfyUI/pull/15421",
        "attention over strided views takes three times as long: contiguous ones, on this card and for long texts",
        _strided_attention,
        bound=("compute",), told=("~attn_fwd|flash_attention",),
        never=("GR005", "~is not fused", "GR004", "ID001", *OF_NVIDIA, *OF_TRAINING),
    ),
    Story(
        "attention built in the first passes", "LLM inference, XPU", GITHUB + "pytorch/pytorch/issues/151992",
        "the first passes build attention for their shapes: warm up, then measure", _built_in_the_first_passes,
        told=("~the first of 576", "~before it serves"), never=("~torch\\.cuda", "~\\.cuda\\(",
        "~on tensors that lie on the GPU", "PR001", *OF_NVIDIA, *OF_TRAINING),
    ),
    Story(
        "free between ops of an Ascend", "LLM serving, NPU", GITHUB + "vllm-project/vllm-ascend/issues/9404",
        "the host launches op by op: replay the decoding from a graph", _free_between_ops,
        told=("PG005|ID001|ID002|IN001",), never=("~CUDA|cuda", "CP001", "CP002", "PY002", "~set_num_threads", *OF_TRAINING),
    ),
    Story(
        "nms on the CPU of a Mac", "segmentation, MPS", GITHUB + "computational-cell-analytics/micro-sam/pull/176",
        "boxes go to the CPU and back for each nms: batched, or the model on the CPU", _suppressed_on_the_cpu,
        told=("~nms|aten::copy_|_to_copy",), never=("CP001", "CP002", "~set_num_threads", "~oneDNN|mkldnn", "~CUDA|cuda",
        *OF_TRAINING),
    ),
    Story(
        "products in float on a Graviton", "inference, CPU", "https://github.com/pytorch/tutorials/pull/2719",
        "addmm is nearly all of it: fast math in bfloat16", _fast_math_on_graviton, bound=("compute", "unknown"),
        told=("~aten::addmm",), never=("~AMX|AVX", "~CUDA|cuda", "PY001", "PY003", "DL001", *OF_TRAINING),
    ),
)  # fmt: skip
