"""Stories of searches inside the steps of training, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm
from stories import devices
from stories.models import (
    ADD,
    BATCH_NORM,
    CONV_BACK,
    NORM_OPS,
    RANKS,
    RELU,
    layer,
    layers_back,
    update,
)
from stories.story import GITHUB, Story

CAUSAL = "causal_conv1d_{}_kernel"
SEARCHED = (
    "cudnn::cnn::implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1",
    "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(p)",
    "void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*, int, int, int, int, int, int)",
    "void explicit_convolve_sgemm<float, int, 1024, 5, 5, 3, 3, 3, 0, false>(int, int, int, float const*)",
    "cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_nhwc_align4>",
)


def _tuned_again() -> Clocked:
    """Packed batches in Megatron: a Triton kernel is tuned anew for each number of tokens: 7,000 tokens/s become 1,550 at times."""
    world = Clocked(top=RANKS)
    for number in world.steps(6):
        for index in range(10):
            layer(world, 0.8)
            tuned = index == 0 and number in (1, 2, 4)
            for choice in range(12 if tuned else 0):
                world.idle(9_000)
                world.runtime("cuModuleLoadData", world.now, 2_300)
                world.now += 2_400
                for _ in range(24):
                    with world.within("aten::zero_"):
                        world.kernel_of(None, "Memset (Device)", 90, api="cudaMemsetAsync")
                    world.runtime("cudaEventRecord", world.now, 3)
                    world.now += 4
                    world.kernel_of(None, CAUSAL.format("fwd"), 70 + choice * 9, api="cuLaunchKernel")
                    world.runtime("cudaEventRecord", world.now, 3)
                    world.now += 4
                world.synchronize()
            world.kernel_of("CausalConv1dFunction", CAUSAL.format("fwd"), 72, api="cuLaunchKernel", host=40)
        layers_back(world, 10, 1.6)
        update(world, dur=900)
    for event in world.events:
        if event["name"] == "Memset (Device)":
            event["cat"] = "gpu_memset"
    return world


def _found_for_each_shape() -> Clocked:
    """Applio on an RX 7900 XTX: MIOpen looks for kernels for each new length; convolutions wait for the search on the host."""
    world = Clocked()
    ops = "aten::conv1d/aten::convolution/aten::_convolution/aten::miopen_convolution"
    for _ in world.steps(6):
        world.load(120, workers=4)
        for index in range(24):
            if index % 3 == 0:
                with (
                    world.within("aten::conv1d"),
                    world.within("aten::convolution"),
                    world.within("aten::miopen_convolution"),
                ):
                    world.idle(34_000)
                    world.runtime("cuModuleLoadData", world.now, 5_200)
                    world.now += 5_300
                    world.kernel_of(None, "miopenSp3AsmConv_v30_3_1_gfx11_fp32_f2x3_stride1", 420)
            else:
                world.kernel_of(ops, "miopenSp3AsmConv_v30_3_1_gfx11_fp32_f2x3_stride1", 420, host=50)
            world.kernel_of("aten::leaky_relu", ADD, 60)
        with world.backward():
            for index in range(24):
                with world.node("LeakyReluBackward0"):
                    world.kernel_of("aten::leaky_relu_backward", ADD, 70)
                with world.node("ConvolutionBackward0"), world.within("aten::miopen_convolution_backward"):
                    if index % 3 == 0:
                        world.idle(41_000)
                    world.kernel_of(None, "miopenSp3AsmConv_v30_3_1_gfx11_fp32_f3x2_stride1", 430)
                    world.kernel_of(None, "ImplicitGemmConvWrw_igemm_wrw_gtcx35_nchw_fp32", 510)
        update(world, dur=400)
    rocm(world)
    world.top["deviceProperties"] = [dict(devices.RX_7900_XTX, warpSize=32)]
    return world


def _sizes_of_images() -> Clocked:
    """cudnn.benchmark with images of 400 to 600 pixels a side: each new size searches again: 22 ms become 0.6 to 2.3 s."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(200, workers=8)
        world.copied("HtoD", 6 << 20, pinned=True)
        for _ in range(20):
            with (
                world.within("aten::conv2d"),
                world.within("aten::convolution"),
                world.within("aten::cudnn_convolution"),
            ):
                world.runtime("cudaMalloc", world.now, 900)
                world.now += 910
                for kernel in SEARCHED:
                    world.runtime("cudaEventRecord", world.now, 3)
                    world.now += 4
                    world.kernel_of(None, kernel, 700)
                    world.runtime("cudaEventRecord", world.now, 3)
                    world.now += 4
                    world.synchronize("cudaEventSynchronize")
                world.runtime("cudaFree", world.now, 1_100)
                world.now += 1_110
                world.kernel_of(None, SEARCHED[1], 210)
            world.kernel_of(NORM_OPS, BATCH_NORM, 60, host=30)
            world.kernel_of("aten::relu_/aten::clamp_min_", RELU, 20)
        with world.backward():
            for _ in range(20):
                with world.node("ConvolutionBackward0"), world.within("aten::convolution_backward"):
                    for kernel in SEARCHED[1:4]:
                        world.kernel_of(None, kernel.replace("fprop", "dgrad"), 800)
                        world.synchronize("cudaEventSynchronize")
                    world.kernel_of(None, CONV_BACK, 260)
        update(world, "SGD", dur=120)
    return world


STORIES = (
    Story(
        "Triton tunes for each length", "LLM pretraining, packed", GITHUB + "fla-org/flash-linear-attention/issues/1147",
        "the number of tokens is part of the key of autotune: steps with a new one tune again", _tuned_again,
        bound=("compile", "compute", "mixed", "python", "launch", "sync"), told=("~[Tt]un(ed|es|ing)|autotune|[Ss]earch|compil",),
        never=("DL001", "SY003", "OP003", "~torch\\.cuda\\.synchronize", "PR001", "PY004"),
    ),
    Story(
        "MIOpen searches for each shape", "speech, GAN, ROCm", GITHUB + "IAHispano/Applio/pull/1291",
        "each new length is a search on the host: fewer lengths, or other kernels", _found_for_each_shape,
        bound=("launch", "compile", "mixed", "python"), told=("~MIOpen|miopen", "~shape|length"),
        never=("DL001", "GR004", "~cudnn\\.benchmark = True", "PR001", "~make_graphed", "~lie on the GPU"),
    ),
    Story(
        "images of all sizes searched for", "vision, cudnn.benchmark", GITHUB + "pytorch/pytorch/issues/2759",
        "cudnn.benchmark searches for each new size: off, or fewer sizes", _sizes_of_images,
        told=("KE011", "~cudnn\\.benchmark"), never=("DL001", "GR004", "~channels_last", "SY003", "PR002", "PG002"),
    ),
)  # fmt: skip
