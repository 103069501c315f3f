"""Stories of language and video models that keep the device busy, and by what; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm
from stories import devices
from stories.models import (
    ADD,
    AMPERE,
    CIJK,
    FLASH,
    FLASH_BACK,
    SDPA,
    layer,
    layers,
    update,
)
from stories.story import GITHUB, Story

SCALED = "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
TRANSPOSED = "void transformer_engine::detail::cast_transpose_kernel<8, 4, float, __nv_bfloat16, __nv_fp8_e4m3>(p)"
TO_FLOAT = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>>(int)"
)
TO_16 = (
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
)
MUL_32 = (
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float>>>>(int)"
)
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, 4, 64>"
INDEXED = "void at::native::indexing_backward_kernel<c10::BFloat16, 4>(long const*, long const*, c10::BFloat16 const*)"
GATHERED = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
RADIX = (
    "void rocprim::detail::radix_sort_onesweep_iteration_kernel<rocprim::detail::wrapped_radix_sort_onesweep_config>"
)


def _cast_anew() -> Clocked:
    """Megatron, FP8: weights are cast and transposed for each micro-batch, though they change once a step; 5 % without."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(3):
        for _ in range(4):
            for _ in range(8):
                for dur, cast in ((260, 26), (110, 16), (420, 40), (420, 40)):
                    world.kernel_of("_LayerNormLinear", TRANSPOSED, cast * 0.8, host=30)
                    world.kernel_of("_LayerNormLinear", TRANSPOSED, cast, host=30)
                    world.kernel_of("_LayerNormLinear", SCALED, dur, host=60)
                world.kernel_of(
                    "FusedAttnFunc", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_31", 240
                )
                world.kernel_of("aten::add", ADD, 30)
            with world.backward():
                for _ in range(8):
                    with world.node("_LayerNormLinearBackward"):
                        for dur in (420, 420, 110, 260):
                            world.kernel_of(None, TRANSPOSED, 24)
                            world.kernel_of(None, SCALED, dur)
                            world.kernel_of(None, SCALED, dur)
                    with world.node("FusedAttnFuncBackward"):
                        world.kernel_of(
                            None, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_32", 560
                        )
        update(world, "FusedAdam", dur=2_000)
    return world


def _rotary() -> Clocked:
    """torchtune: rotary embeddings by float32 copies, products and a stack for each of Q and K; one kernel is 13 times as fast."""
    world = Clocked()

    def rotated(scale: float) -> None:
        for _ in range(2):
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_FLOAT, 28 * scale)
            for op in ("mul", "mul", "sub", "mul", "mul", "add"):
                world.kernel_of(f"aten::{op}", MUL_32, 24 * scale)
            world.kernel_of("aten::stack/aten::cat", CAT, 40 * scale)
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_16, 28 * scale)

    for _ in world.steps(4):
        world.load(80, workers=2)
        for _ in range(12):
            layer(world, 0.6)
            rotated(1.0)
        with world.backward():
            for _ in range(12):
                with world.node("StackBackward0"):
                    rotated(1.0)
                with world.node("MmBackward0"):
                    layer(world, 1.2, backward=True)
        update(world, dur=1_200)
    return world


def _permuted_back() -> Clocked:
    """DeepSeek-V3 on MI300X: the gradient of x[permuted_indices] is a scatter by atomics, though no index comes twice."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(3):
        for _ in range(8):
            world.kernel_of("aten::linear/aten::mm", CIJK, 500, host=24)
            world.kernel_of(SDPA, "attn_fwd", 320, host=40)
            world.kernel_of("aten::index", GATHERED, 160, host=24)
            world.kernel_of("aten::_grouped_mm", "_ck_grouped_gemm_kernel", 1_600, host=50)
            world.kernel_of("aten::index", GATHERED, 160, host=24)
        with world.backward():
            for _ in range(8):
                for _ in range(2):
                    with world.node("IndexBackward0"), world.within("aten::_index_put_impl_"):
                        for _ in range(3):
                            world.kernel_of("aten::sort", RADIX, 30, host=24)
                        world.kernel_of(None, INDEXED, 1_500)
                with world.node("GroupedMmBackward0"):
                    world.kernel_of("aten::_grouped_mm", "_ck_grouped_gemm_kernel", 1_600, host=50)
                    world.kernel_of("aten::_grouped_mm", "_ck_grouped_gemm_kernel", 1_600, host=50)
                with world.node("ScaledDotProductFlashAttentionBackward0"):
                    world.kernel_of(
                        "aten::_scaled_dot_product_flash_attention_backward", "bwd_kernel_dk_dv", 800, host=40
                    )
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", CIJK, 1_000)
        update(world, dur=1_500)
    return rocm(world)  # type: ignore[return-value]


def _rotated_in_one() -> Clocked:
    """unsloth: rotary embeddings are one Triton kernel, 1 % of the time; products the bulk: a faster kernel changed nothing."""
    world = Clocked(top=devices.of(devices.A100))
    triton = {"host": 30, "api": "cuLaunchKernel"}
    products = ((260, 20), (70, 7), (70, 7), (260, 20), (690, 50), (690, 50), (690, 50))
    for _ in world.steps(3):
        world.load(70, workers=2)
        for _ in range(10):
            world.kernel_of("Fast_RMS_Layernorm", "_rms_layernorm_forward", 40, **triton)
            for number, (dur, unpacked) in enumerate(products):
                world.kernel_of(
                    "LoRA_QKV" if number < 4 else "LoRA_MLP",
                    "kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>",
                    unpacked,
                )
                world.kernel_of("aten::matmul/aten::mm", AMPERE, dur)
                world.kernel_of("aten::addmm_", AMPERE.replace("128x128", "64x64"), 18)
            world.kernel_of("Fast_RoPE_Embedding", "_rope_embedding", 26, **triton)
            world.kernel_of("FlashAttnFunc", FLASH, 260, host=40)
            world.kernel_of("LoRA_MLP", "_fg_kernel", 60, **triton)
        with world.backward():
            for _ in range(10):
                with world.node("LoRA_MLPBackward"):
                    for dur, unpacked in products[4:]:
                        world.kernel_of(None, "kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>", unpacked)
                        world.kernel_of("aten::matmul/aten::mm", AMPERE, dur)
                        world.kernel_of("aten::mm", AMPERE.replace("128x128", "64x64"), 20)
                with world.node("FlashAttnFuncBackward"):
                    world.kernel_of(None, FLASH_BACK, 640)
                with world.node("Fast_RoPE_EmbeddingBackward"):
                    world.kernel_of(None, "_rope_embedding", 26, api="cuLaunchKernel")
                with world.node("LoRA_QKVBackward"):
                    for dur, unpacked in products[:4]:
                        world.kernel_of(None, "kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>", unpacked)
                        world.kernel_of("aten::matmul/aten::mm", AMPERE, dur)
                        world.kernel_of("aten::mm", AMPERE.replace("128x128", "64x64"), 20)
        update(world, "AdamW8bit", dur=120)
    return world


def _flexed_back() -> Clocked:
    """Wan 2.1 with teacher forcing on A100: flex attention's backward pass dominates; packed flash attention, 40 % less."""
    world = Clocked(top=devices.of(devices.A100))
    with_flex = "triton_tem_fused_flex_attention_{}"
    for _ in world.steps(3):
        world.load(90, workers=4)
        for _ in range(8):
            layers(world, 1, 1.6)
            with world.within("Torch-Compiled Region: 0/0"):
                world.kernel_of("CompiledFunction", with_flex.format("0"), 4_200, host=60, api="cuLaunchKernel")
        with world.backward():
            for _ in range(8):
                with world.node("CompiledFunctionBackward"):
                    world.kernel_of(None, with_flex.format("backward_zeros_1"), 21_000, api="cuLaunchKernel")
                with world.node("MmBackward0"):
                    layer(world, 3.2, backward=True)
        update(world, dur=3_000)
    return world


STORIES = (
    Story(
        "weights cast for each micro-batch", "LLM pretraining, FP8, Megatron", GITHUB + "NVIDIA/Megatron-LM/issues/629",
        "weights are cast and transposed again though they have not changed: is_first_microbatch, 5 %", _cast_anew,
        bound=("compute",), told=("~cast_transpose|is_first_microbatch",),
        never=("PR004", "DL001", "GR004", "PR001", "KE002", "~Quantization to FP8"),
    ),
    Story(
        "rotary embeddings op by op", "LLM fine-tuning, torchtune", GITHUB + "meta-pytorch/torchtune/pull/2970",
        "copies to float32, products and a stack for Q and K: one fused kernel", _rotary, bound=("compute",),
        told=("GR001|GR007|KE009", "~torch\\.compile|[Ff]use"), never=("DL001", "GR004", "PR001", "GR005"),
    ),
    Story(
        "tokens permuted back by atomics", "LLM, MoE, ROCm", GITHUB + "pytorch/ao/pull/4469",
        "the gradient of an index scatters by atomics though no index comes twice: a scatter without", _permuted_back,
        bound=("compute",), told=("KE003", "~index"), never=("DL001", "GR004", "PR001", "~nvidia-smi|cuDNN|TF32"),
    ),
    Story(
        "rotary embeddings in one kernel", "LLM fine-tuning, unsloth", GITHUB + "unslothai/unsloth/pull/238",
        "the kernel is 1 % of the time, products take the bulk: a faster one changes nothing", _rotated_in_one,
        bound=("compute",), never=("GR001", "GR007", "DL001", "PR001", "KE001", "GR004", "GR005", "PR004"),
    ),
    Story(
        "flex attention's backward pass", "video diffusion", GITHUB + "shengshu-ai/minWM/pull/19",
        "the backward kernel of flex attention dominates: packed flash attention for a mask of blocks", _flexed_back,
        bound=("compute",), told=("~flex_attention",), never=("GR005", "DL001", "GR004", "PR001", "GR002"),
    ),
)  # fmt: skip
