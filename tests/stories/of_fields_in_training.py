"""Stories of training in science, graphics and graphs: what keeps the device busy; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm, torch_1_9
from stories import devices
from stories.models import (
    ADD,
    CIJK,
    CONV,
    CONV_OPS,
    FUSED_ADAM,
    NORM,
    RELU,
    SGEMM,
    update,
)
from stories.story import GITHUB, Story

TO_FLOAT = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>>(int)"
)
TO_16 = (
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
)
FFT = "void regular_fft<{}u, EPT<8u>, 64u, 2u, {}>(kernel_arguments_t<unsigned int>)"
CGEMM = "ampere_cgemm_64x32_nn"
DEPTHWISE = "void at::native::(anonymous namespace)::conv_depthwise2d_{}_kernel<11, float, int>(p)"
BN_BACK = "void at::native::batch_norm_backward_kernel<float, float, float, int>(p)"
BN_STATS = "void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, float, float, float, int>(p)"
BN_APPLY = "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(p)"
INDEX = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
SCATTER_ADD = "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true>>"


def _spectral() -> Clocked:
    """A Fourier operator under autocast: transforms and complex products have to be computed in float32; the rest is bfloat16."""
    world = Clocked(top=devices.of(devices.A100))
    world.top["cuda_runtime_version"] = 12060
    for _ in world.steps(5):
        world.load(110, workers=6)
        world.copied("HtoD", 16 << 20, pinned=True)
        for _ in range(4):
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_FLOAT, 90)
            world.kernel_of("aten::fft_rfftn/aten::_fft_r2c", FFT.format(256, "(padding_t)1"), 900, host=60)
            world.kernel_of("aten::slice/aten::clone/aten::copy_", ADD, 110)
            world.kernel_of("aten::einsum/aten::bmm", CGEMM, 1_700, host=70)
            world.kernel_of("aten::zeros/aten::zero_/aten::fill_", ADD, 140)
            world.kernel_of("aten::fft_irfftn/aten::_fft_c2r", FFT.format(256, "(padding_t)0"), 950, host=60)
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_16, 80)
            world.kernel_of(CONV_OPS, CONV, 260, host=40)
            world.kernel_of("aten::gelu", ADD, 90)
        with world.backward():
            for _ in range(4):
                with world.node("GeluBackward0"):
                    world.kernel_of("aten::gelu_backward", ADD, 130)
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV.replace("fprop", "dgrad"), 540, host=40)
                with world.node("FftC2RBackward0"):
                    world.kernel_of("aten::_fft_r2c", FFT.format(256, "(padding_t)1"), 930, host=50)
                with world.node("BmmBackward0"):
                    world.kernel_of("aten::bmm", CGEMM.replace("nn", "nt"), 1_700)
                    world.kernel_of("aten::bmm", CGEMM.replace("nn", "tn"), 1_700)
                with world.node("FftR2CBackward0"):
                    world.kernel_of("aten::_fft_c2r", FFT.format(256, "(padding_t)0"), 950, host=50)
        update(world, "Adam", dur=700)
    return world


def _all_gaussians() -> Clocked:
    """gsplat: Adam goes through all 2.3 million gaussians for one image; only the visible: 3:16 become 2:28."""
    world = Clocked(marks=False, top=devices.of(devices.RTX_3080_TI))
    forward, backward = "void gsplat::{}_fwd_kernel<3u, float>(p)", "void gsplat::{}_bwd_kernel<3u, float>(p)"
    parts = (("projection_ewa_3dgs_packed", 900), ("spherical_harmonics", 700), ("rasterize_to_pixels_3dgs", 4_200))
    for _ in range(9):
        world.idle(80)
        world.copied("HtoD", 1237 * 822 * 3 * 4, pinned=True)
        for kernel, dur in parts:
            world.kernel_of(f"_{kernel}", forward.format(kernel), dur, host=60)
        world.kernel_of("FusedSSIMMap", "fusedssimCUDA(int, int, int, float, float, float*)", 420, host=40)
        world.kernel_of("aten::l1_loss", ADD, 40)
        with world.backward():
            with world.node("FusedSSIMMapBackward"):
                world.kernel_of(None, "fusedssim_backwardCUDA(int, int, int, float, float, float*)", 500)
            for kernel, dur in reversed(parts):
                with world.node(f"_{kernel}Backward"):
                    world.kernel_of(None, backward.format(kernel), dur * 2)
        for dur in (500, 480, 640, 200, 500, 7_200):
            begin = world.now
            world.idle(30)
            world.kernel_of("aten::_fused_adam_", FUSED_ADAM, dur, host=50)
            world.optimizer(begin, world.now - begin, "Adam")
    return world


def _added_by_atomics() -> Clocked:
    """3D gaussian splatting: renderCUDA's backward pass adds up gradients by atomics; reduced by block first, 41 % faster."""
    world = Clocked(marks=False, top=devices.of(devices.RTX_3090))
    for _ in range(10):
        world.idle(400)
        with world.within("_RasterizeGaussians"):
            world.kernel_of(None, "preprocessCUDA<3>(int, int, int, float const*, glm::vec<3, float>*)", 260)
            world.kernel_of(None, "void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, unsigned int>>(p)", 20)
            world.copied("DtoH", 4, path=None)
            world.kernel_of(None, "duplicateWithKeys(int, float2 const*, float const*, unsigned int*)", 140)
            for _ in range(5):
                world.kernel_of(
                    None, "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<unsigned long>>", 160
                )
            world.kernel_of(None, "identifyTileRanges(int, unsigned long*, uint2*)", 40)
            world.kernel_of(
                None, "void renderCUDA<3u>(uint2 const*, unsigned int const*, int, int, float2 const*)", 1_300
            )
        world.kernel_of("aten::sub", ADD, 20)
        world.kernel_of("aten::abs", ADD, 20)
        for _ in range(5):
            world.kernel_of(
                "aten::conv2d/aten::convolution/aten::_convolution/aten::_conv_depthwise2d",
                DEPTHWISE.format("forward"),
                180,
                host=40,
            )
        with world.backward():
            for _ in range(5):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", DEPTHWISE.format("backward"), 200, host=40)
            with world.node("_RasterizeGaussiansBackward"):
                world.kernel_of(
                    None,
                    "void renderCUDA<3u>(uint2 const*, unsigned int const*, int, int, float const*, float*)",
                    9_000,
                )
                world.kernel_of(None, "computeCov2DCUDA(int, float3 const*, int const*, float const*)", 120)
                world.kernel_of(None, "void preprocessCUDA<3>(int, int, int, float3 const*, int const*, float*)", 240)
        world.read_value()
        begin = world.now
        for _ in range(6):
            for op, dur in (
                ("lerp_", 60),
                ("mul_", 40),
                ("addcmul_", 60),
                ("sqrt", 40),
                ("div_", 40),
                ("add_", 40),
                ("addcdiv_", 70),
            ):
                world.kernel_of(f"aten::_foreach_{op}", FUSED_ADAM.replace("Fused", ""), dur / 2, host=22)
        world.optimizer(begin, world.now - begin, "Adam")
    return world


def _evoformer() -> Clocked:
    """OpenFold 3 on MI300X: attention and SwiGLU are Triton kernels of its own in autograd functions; fused already."""
    world = Clocked()
    for _ in world.steps(3):
        world.load(120, workers=8)
        for _ in range(10):
            for dur in (420, 160, 420):
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", NORM, 130)
                world.kernel_of("aten::linear/aten::addmm", CIJK, dur, host=24)
                world.kernel_of("aten::sigmoid", ADD, 60)
                world.kernel_of("aten::mul", ADD, 70)
            world.kernel_of("EvoformerAttention", "_attn_fwd", 900, host=60)
            world.kernel_of("LigerSiLUMulFunction", "_swiglu_forward_kernel", 150, host=40)
        with world.backward():
            for _ in range(10):
                with world.node("LigerSiLUMulFunctionBackward"):
                    world.kernel_of(None, "_swiglu_backward_kernel", 220)
                with world.node("EvoformerAttentionBackward"):
                    world.kernel_of(None, "_attn_bwd_dkdv", 1_500)
                    world.kernel_of(None, "_attn_bwd_dq", 900)
                for dur in (420, 160, 420):
                    with world.node("AddmmBackward0"):
                        world.kernel_of("aten::mm", CIJK, dur, host=24)
                        world.kernel_of("aten::mm", CIJK, dur, host=24)
                    with world.node("NativeLayerNormBackward0"):
                        world.kernel_of("aten::native_layer_norm_backward", NORM, 200)
        update(world, "Adam", dur=900)
    return rocm(world)  # type: ignore[return-value]


def _norms_of_voxels() -> Clocked:
    """torchsparse on a 2080 Ti: batch norms over all voxels take 64 %, products little; halves bring 10 %, padding nothing."""
    world = Clocked(top=devices.of(devices.RTX_2080_TI))
    for _ in world.steps(4):
        world.load(130, workers=4)
        for _ in range(12):
            for _ in range(9):
                world.kernel_of(
                    "ConvolutionFunction", "void gather_kernel<float>(int, int, float const*, float*)", 30, host=14
                )
                world.kernel_of("aten::mm", "volta_sgemm_128x64_nn", 16)
                world.kernel_of(
                    "ConvolutionFunction", "void scatter_kernel<float>(int, int, float const*, float*)", 34, host=14
                )
            with world.within("aten::batch_norm"), world.within("aten::native_batch_norm"):
                world.kernel_of(None, BN_STATS, 1_100)
                world.kernel_of(None, BN_APPLY, 260)
            world.kernel_of("aten::relu", ADD, 60)
        with world.backward():
            for _ in range(12):
                with world.node("ReluBackward"):
                    world.kernel_of("aten::threshold_backward", ADD, 70)
                with world.node("NativeBatchNormBackward"):
                    world.kernel_of("aten::native_batch_norm_backward", BN_BACK, 2_600)
                with world.node("ConvolutionFunctionBackward"):
                    for _ in range(9):
                        world.kernel_of(None, "void gather_kernel<float>(int, int, float const*, float*)", 30)
                        world.kernel_of("aten::mm", "volta_sgemm_64x32_sliced1x4_nt", 32)
                        world.kernel_of(None, "void scatter_kernel<float>(int, int, float const*, float*)", 34)
        update(world, "Adam", dur=120)
    return torch_1_9(world)  # type: ignore[return-value]


def _relations() -> Clocked:
    """HeteroConv over 64 relations: index, product, scatter and sum of a few microseconds each; grouped products, 3x."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(180, workers=6)
        world.copied("HtoD", 3 << 20, pinned=True)
        for _ in range(2):
            for _ in range(64):
                world.kernel_of("aten::linear/aten::addmm", SGEMM, 7, host=16)
                world.kernel_of("aten::index_select", INDEX, 5)
                world.kernel_of("aten::scatter_add_", SCATTER_ADD, 6, host=16)
                world.idle(34)
                world.kernel_of("aten::add", ADD, 3)
            world.kernel_of("aten::relu/aten::clamp_min", RELU, 4)
        world.kernel_of("aten::cross_entropy_loss/aten::log_softmax", ADD, 6, host=24)
        with world.backward():
            for _ in range(128):
                with world.node("ScatterAddBackward0"):
                    world.kernel_of("aten::gather", INDEX, 5)
                with world.node("IndexSelectBackward0"):
                    world.kernel_of("aten::index_add_", SCATTER_ADD, 7, host=18)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", SGEMM, 7)
                    world.kernel_of("aten::mm", SGEMM, 7)
        update(world, "Adam", dur=90)
    return world


STORIES = (
    Story(
        "complex products under autocast", "scientific, Fourier operator", GITHUB + "NVIDIA/physicsnemo/issues/1737",
        "transforms and complex products have no half precision: autocast cannot reach them", _spectral,
        bound=("compute",), told=("~Fourier transforms",), never=("PR001", "DL001", "GR004", "KE002", "PR004"),
    ),
    Story(
        "Adam for gaussians that nobody saw", "gaussian splatting", GITHUB + "nerfstudio-project/gsplat/pull/432",
        "the update goes through all gaussians: only the visible", _all_gaussians, bound=("compute",),
        told=("~[Oo]ptimizer|_fused_adam|update",), never=("OP001", "OP002", "PR001", "DL001", "~2 \\* batch_size"),
    ),
    Story(
        "gradients of gaussians by atomics", "gaussian splatting",
        GITHUB + "graphdeco-inria/diff-gaussian-rasterization/pull/53",
        "renderCUDA's backward pass adds by atomics: reduced by block first", _added_by_atomics, bound=("compute",),
        told=("~renderCUDA|_RasterizeGaussians",),
        never=("PR001", "DL001", "KE001", "GR004", "~channels_last", "~2 \\* batch_size"),
    ),
    Story(
        "attention of the Evoformer by Triton", "protein folding, ROCm", GITHUB + "AMD-AGI/TraceLens/pull/528",
        "attention and SwiGLU are fused kernels of their own", _evoformer, bound=("compute",),
        told=("~attention",),
        never=("GR005", "DL001", "GR004", "PR001", "~scaled_dot_product_attention", "~TF32|cuDNN"),
    ),
    Story(
        "batch norms of voxels", "point clouds, torchsparse", GITHUB + "mit-han-lab/torchsparse/pull/69",
        "batch norms take two thirds, products hardly anything: halves bring 10 %, padding to 8 nothing", _norms_of_voxels,
        bound=("compute",), told=("~batch_norm",),
        never=("PR001", "PR002", "PR003", "DL001", "~TF32|tf32|bfloat16", "~triton|jit\\.script"),
    ),
    Story(
        "relation by relation", "GNN, heterogeneous", GITHUB + "pyg-team/pytorch_geometric/pull/6178",
        "a few tiny kernels for each relation: grouped products for all", _relations, bound=("launch",),
        told=("ID001", "PY003|GR004"), never=("DL001", "PR001", "PR002", "~DataLoader\\(", "~[Ee]xpert"),
    ),
)  # fmt: skip
