"""Stories of quantised weights, adapters and kernels that serve them, written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, FLASH, NVJET, SDPA
from stories.of_answering import ARGMAX, PAGED
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import GITHUB, Story

AWQ = "void vllm::awq::gemm_forward_4bit_cuda_m16nXk32<128>(int, int, __half*, int*, __half*, int*, int, int, int, __half*)"
INT4 = (
    "void at::native::tinygemm_m16n8k16_chunk_kernel<at::native::ALayout_RM<(at::native::KReductionType)0>, "
    "at::native::BLayout_TC_int4<8, 128>, at::native::ALayout_RM<(at::native::KReductionType)0>, 8, 8>(void const*, int)"
)
SCALED = "nvjet_sm100_qqtst_128x64_128x8_2x2_2cta_h_bz_TNT"
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda()#3}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda const&)::{lambda(int)#1}>"
)
CONV_1D = (
    "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, true, c10::BFloat16, c10::BFloat16>>(p)"
)


def _awq_forced() -> Clocked:
    """vLLM with `--quantization awq`: AWQ's own kernel, 23 tokens a second; left out, Marlin's is taken, 123."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            world.idle(260)
            one = [(RMS, 4), (AWQ, 230), (PAGED, 12), (AWQ, 150), (RMS, 4), (AWQ, 520), (ADD, 3), (AWQ, 290)]
            world.graph(one * 32, host=220)
            world.kernel_of("aten::linear/aten::mm", GEMV, 190)
            world.kernel_of("aten::argmax", ARGMAX, 12)
            world.copied("DtoH", 8, path="aten::to/aten::_to_copy/aten::copy_")
            world.idle(240)
    return world


def _subclass_not_compiled() -> Clocked:
    """transformers with torchao's int4, not compiled: each linear layer is dispatched in Python; slower than in bfloat16."""
    world = Clocked(marks=False)
    for _ in range(6):
        for _ in range(32):
            for op in ("aten::pow", "aten::mean", "aten::mul"):
                world.kernel_of(op, ADD, 3, host=14)
            for dur in (7, 5, 5, 9, 14, 14, 13):
                with world.within("aten::linear"):
                    world.idle(55)
                    world.host_op("aten::reshape/aten::view", 8)
                    world.host_op("aten::detach", 7)
                    world.idle(30)
                    world.kernel_of("aten::_weight_int4pack_mm", INT4, dur, host=17)
                    world.host_op("aten::slice", 7)
            world.kernel_of(SDPA, FLASH, 8, host=34)
            world.kernel_of("aten::silu", ADD, 3, host=13)
        world.kernel_of("aten::linear/aten::mm", GEMV, 330)
        world.kernel_of("aten::argmax", ARGMAX, 12)
        world.read_value()
    return world


def _scaled_apart() -> Clocked:
    """SGLang with static FP8: `_static_quant_fp8` before every product, 240 of them in a decode pass; in the norm's kernel none."""
    world = Clocked(marks=False)
    one = [
        ("_static_quant_fp8", 2.2), (SCALED, 9), ("fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvDense", 11), ("_static_quant_fp8",
        2.1),
        (SCALED, 7), ("flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", 3), ("_static_quant_fp8", 2.2), (SCALED, 16),
        ("flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>", 3), ("_static_quant_fp8", 2.4), (SCALED, 11),
        ("flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", 3),
    ]  # fmt: skip
    for _ in range(12):
        with world.inside("step[DECODE bs=8]"):
            world.graph(one * 60, host=240)
            world.kernel_of("aten::argmax", ARGMAX, 10)
            world.copied("DtoH", 64, pinned=True, path="aten::to/aten::_to_copy/aten::copy_")
        world.idle(60)
    world.synchronize()
    return world


def _adapter_kernels() -> Clocked:
    """vLLM with one LoRA on an A100: `_bgmv_shrink_kernel` and `_bgmv_expand_slice_kernel` are 7 of 35 s; without, 28."""
    world = Clocked(marks=False)
    shrink, expand = ("_bgmv_shrink_kernel", 24), ("_bgmv_expand_slice_kernel", 16)
    one = [
        (RMS, 5),
        (NVJET, 60),
        shrink,
        expand,
        (PAGED, 34),
        (NVJET, 44),
        (RMS, 5),
        (NVJET, 96),
        shrink,
        expand,
        (ADD, 4),
        (NVJET, 60),
    ]
    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_96(96)"):
            world.idle(350)
            world.graph(one * 32, host=260)
            world.kernel_of("aten::argmax", ARGMAX, 30)
            world.copied("DtoH", 96 * 8, path="aten::to/aten::_to_copy/aten::copy_")
            world.idle(300)
    return world


def _transposed_before_conv() -> Clocked:
    """SGLang, gated delta net: `causal_conv1d_fn` needs its input contiguous: 188 MB copied a layer, 0.6 ms; Triton's does not."""
    world = Clocked(marks=False)
    for _ in range(6):
        with world.inside("step[EXTEND bs=1 toks=16384]"):
            world.idle(200)
            for _ in range(18):
                world.kernel_of("sgl_kernel::gemma_rmsnorm", RMS, 40)
                world.kernel_of("aten::linear/aten::mm", NVJET, 520)
                world.kernel_of("aten::contiguous/aten::clone/aten::copy_", COPY, 640, host=22)
                world.kernel_of("sgl_kernel::causal_conv1d_fwd", CONV_1D, 210)
                world.kernel_of(None, "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", 380, api="cuLaunchKernelEx")
                world.kernel_of(None, "chunk_fwd_kernel_o", 330, api="cuLaunchKernelEx")
                world.kernel_of("aten::linear/aten::mm", NVJET, 260)
                world.kernel_of("aten::linear/aten::mm", NVJET, 700)
                world.kernel_of("aten::linear/aten::mm", NVJET, 420)
            world.copied("DtoH", 4096, path="aten::to/aten::_to_copy/aten::copy_")
    return world


STORIES = (
    Story(
        "AWQ's kernel asked for", "LLM serving, AWQ", GITHUB + "vllm-project/vllm/issues/21376",
        "AWQ's own kernel takes the pass: leave the choice to the engine, which takes Marlin's", _awq_forced, bound=("compute",),
        told=("~gemm_forward_4bit_cuda", "~Marlin"), never=("~Quantization", "ID001", "GR004", "KE001", "PR001",
        "~reduce-overhead", *OF_TRAINING),
    ),
    Story(
        "int4 without the compiler", "LLM inference, torchao", GITHUB + "huggingface/transformers/issues/34310",
        "layers are dispatched in Python: compile the model, or replay a graph", _subclass_not_compiled, bound=("launch", "python"),
        told=("ID001|IN001|PY001", "~torch\\.compile|CUDA graph"), never=("PR001", "PR003", "KE001", *OF_TRAINING),
    ),
    Story(
        "activations scaled apart", "LLM serving, FP8", GITHUB + "sgl-project/sglang/issues/31504",
        "a kernel of its own before each product: fused into norm and activation", _scaled_apart, bound=("compute",),
        told=("~scaling to fewer bits",), never=("ID001", "GR004", "PR001", "PY001", "~torch\\.compile\\(model", *OF_TRAINING),
    ),
    Story(
        "adapter's kernels in the graph", "LLM serving, LoRA", GITHUB + "vllm-project/vllm/issues/10062",
        "two kernels of the adapter are a fifth of the time: newer kernels for them, or merge it", _adapter_kernels,
        bound=("compute",),
        told=("~adapters",), never=("ID001", "GR004", "PR001", "~zero_grad", *OF_TRAINING),
    ),
    Story(
        "transposed in front of a convolution", "LLM serving, linear attention", GITHUB + "sgl-project/sglang/pull/20469",
        "a copy a layer that a kernel with strides does not need", _transposed_before_conv, bound=("compute",),
        told=("XF005", "~\\.contiguous\\(\\)"), never=("~torch\\.cat", "ID001", "GR004", "PR001", "~channels_last", *OF_TRAINING),
    ),
)  # fmt: skip
