"""Pieces of models, as their ops and kernels are recorded."""

from __future__ import annotations

from building.clocked import Clocked

NVJET = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"
AMPERE = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn"
CIJK = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1"
SGEMM = "ampere_sgemm_128x64_tn"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32, 4, false, false, cutlass::bfloat16_t>>(p)"
FLASH_BACK = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 64>>(p)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int)"
RELU = "void at::native::vectorized_elementwise_kernel<4, at::native::clamp_min_scalar_kernel_impl<float>, std::array<char*, 2>>"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float)"
CONV = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16"
CONV_BACK = "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1"
CONV_32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1"
BATCH_NORM = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
FUSED_ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>>"
)
FOREACH = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, "
    "at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>>"
)
CONV_OPS = "aten::conv2d/aten::convolution/aten::_convolution/aten::cudnn_convolution"
NORM_OPS = "aten::batch_norm/aten::_batch_norm_impl_index/aten::cudnn_batch_norm"
SDPA = "aten::scaled_dot_product_attention/aten::_scaled_dot_product_flash_attention/aten::_flash_attention_forward"
LINEAR = "aten::linear/aten::addmm"
TO = "aten::to/aten::_to_copy/aten::copy_"

# The job of most stories with several ranks.
RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}


def layer(world: Clocked, scale: float = 1.0, *, host: float = 14, backward: bool = False, after: float = 0) -> None:
    """A decoder layer of about 1.7 ms in bfloat16, or its backward pass."""
    suffix = "_backward" if backward else ""
    attention = f"aten::_scaled_dot_product_flash_attention{suffix}" if backward else SDPA
    world.kernel_of(f"aten::native_layer_norm{suffix}", NORM, 20 * scale, host=host, after=after)
    world.kernel_of("aten::mm" if backward else "aten::linear/aten::mm", NVJET, 300 * scale, host=host)
    world.kernel_of(attention, FLASH_BACK if backward else FLASH, 150 * scale, host=host * 2)
    world.kernel_of("aten::mm" if backward else "aten::linear/aten::mm", NVJET, 200 * scale, host=host)
    world.kernel_of("aten::add", ADD, 20 * scale, host=host)
    world.kernel_of("aten::mm" if backward else "aten::linear/aten::mm", NVJET, 500 * scale, host=host)
    world.kernel_of(f"aten::silu{suffix}", ADD, 30 * scale, host=host)
    world.kernel_of("aten::mm" if backward else "aten::linear/aten::mm", NVJET, 500 * scale, host=host)


def layers(world: Clocked, count: int, scale: float = 1.0, *, host: float = 14) -> None:
    """The forward pass of a decoder."""
    for _ in range(count):
        layer(world, scale, host=host)


def layers_back(world: Clocked, count: int, scale: float = 2.0, *, host: float = 14) -> None:
    """Its backward pass."""
    with world.backward():
        for _ in range(count):
            with world.node("MmBackward0"):
                layer(world, scale, host=host, backward=True)


def block(world: Clocked, scale: float = 1.0, *, conv: str = CONV, host: float = 16) -> None:
    """Convolution, batch norm, ReLU: 140 us."""
    world.kernel_of(CONV_OPS, conv, 100 * scale, host=host * 2)
    world.kernel_of(NORM_OPS, BATCH_NORM, 30 * scale, host=host * 2)
    world.kernel_of("aten::relu_/aten::clamp_min_", RELU, 10 * scale, host=host)


def blocks(world: Clocked, count: int, scale: float = 1.0, *, conv: str = CONV, host: float = 16) -> None:
    """The forward pass of a residual network."""
    for _ in range(count):
        block(world, scale, conv=conv, host=host)


def blocks_back(
    world: Clocked, count: int, scale: float = 2.0, *, conv: str = CONV_BACK, host: float = 16, suffix: str = "0"
) -> None:
    """Its backward pass, its nodes named with `suffix` since torch 1.11."""
    with world.backward():
        for _ in range(count):
            with world.node(f"ReluBackward{suffix}"):
                world.kernel_of("aten::threshold_backward", RELU, 10 * scale, host=host)
            with world.node(f"CudnnBatchNormBackward{suffix}"):
                world.kernel_of(
                    "aten::cudnn_batch_norm_backward", BATCH_NORM.replace("fw_tr", "bw"), 30 * scale, host=host
                )
            with world.node(f"ConvolutionBackward{suffix}" if suffix else "CudnnConvolutionBackward"):
                world.kernel_of("aten::convolution_backward", conv, 100 * scale, host=host * 2)


def perceptron(world: Clocked, count: int, dur: float, *, host: float = 14, name: str = AMPERE) -> None:
    """Linear layers with an activation each."""
    for _ in range(count):
        world.kernel_of(LINEAR, name, dur, host=host)
        world.kernel_of("aten::relu", RELU, min(dur, 4), host=host)


def perceptron_back(world: Clocked, count: int, dur: float, *, host: float = 14, name: str = AMPERE) -> None:
    """Their backward pass."""
    with world.backward():
        for _ in range(count):
            with world.node("ReluBackward0"):
                world.kernel_of("aten::threshold_backward", RELU, min(dur, 4), host=host)
            with world.node("AddmmBackward0"):
                world.kernel_of("aten::mm", name, dur, host=host)
                world.kernel_of("aten::mm", name, dur, host=host)


def update(world: Clocked, name: str = "AdamW", *, dur: float = 2_000) -> None:
    """A fused update and the gradients dropped."""
    begin = world.now
    world.now += 25
    for _ in range(4):
        world.kernel_of("aten::_fused_adamw_", FUSED_ADAM, dur / 4, host=40)
    world.optimizer(begin, world.now - begin, name)
    begin = world.now
    world.now += 30
    world.zero_grad(begin, world.now - begin, name)


def update_foreach(
    world: Clocked, name: str = "AdamW", *, passes: int = 12, dur: float = 1_500, host: float = 60
) -> None:
    """An update by passes over all parameters."""
    ops = ("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_")
    begin = world.now
    world.now += 60
    for index in range(passes):
        world.kernel_of(f"aten::_foreach_{ops[index % len(ops)]}", FOREACH, dur / passes, host=host)
    world.optimizer(begin, world.now - begin, name)


def update_one_by_one(world: Clocked, name: str, *, parameters: int, dur: float = 5, host: float = 13) -> None:
    """An update parameter by parameter."""
    begin = world.now
    for _ in range(parameters):
        for op in ("mul_", "add_", "mul_", "addcmul_", "sqrt", "div", "add_", "addcdiv_"):
            world.kernel_of(f"aten::{op}", ADD, dur, host=host)
        world.idle(12)
    world.optimizer(begin, world.now - begin, name)


def number_sent(world: Clocked) -> None:
    """`torch.tensor(n, device="cuda")`: some Python, and the ops that make, send and hand over the tensor."""
    world.idle(9)
    world.host_op("aten::empty", 3)
    sent_and_waited(world, 8)
    world.host_op("aten::lift_fresh", 2)
    world.host_op("aten::detach_", 3)


def sent_and_waited(world: Clocked, size: int, *, path: str = TO) -> None:
    """A small tensor from pageable memory: the call, and a wait for the stream until it has arrived."""
    begin = world.now
    start = max(begin + 9, world.busy_until.get(7, 0) + 1)
    end = start + 2
    for depth, op in enumerate(path.split("/")):
        world.op(op, begin + depth * 0.4, end - begin + 9 - depth * 0.8, world.thread)
    world.copy("HtoD", begin + 3, 5, start=start, dur=2, size=size, op=None, thread=world.thread)
    world.runtime("cudaStreamSynchronize", begin + 9, max(end - begin - 5, 1), world.thread)
    world.busy_until[7] = end
    world.now = end + 11
