"""What a device kernel's name says: what it computes, how aligned, for which generation of cards; its formats stand beside this.

Names were read from traces of torch 1.8 to now on V100, A100, H100, B200 and MI210 to MI300X. Everything works on one string and
is called once per distinct name. What a name does not say stays None: it is never guessed, and no name says which card it ran on
(kernels built for an older generation run on a newer one).
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from analyzer.facts.kernels.number_formats import number_format, on_tensor_cores
from traces.patterns import Pattern, WordedPattern
from traces.reader.names.collectives import collective_word

MATRIX_FAMILIES = ("gemm", "conv", "attention")
# One pass over memory and little arithmetic: what a compiler fuses into its neighbours.
POINTWISE_FAMILIES = ("elementwise", "copy", "cat", "reduce", "softmax", "norm")


class KernelName(msgspec.Struct, frozen=True):
    """What one name says.

    Args:
        family: gemm, gemv (one vector: memory decides, not tensor cores), conv, attention, layout (transposes around
            convolutions), elementwise, copy, cat, reduce, softmax, norm, gather (index, embedding, sort), scan (running sums),
            multi_tensor (foreach and fused optimizers), dequantize (packed weights written out before a product), quantize
            (activations scaled to fewer before one), adapter (low-rank), fft, pooling, interpolation, triton, collective or other.
        number_format: fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, complex or None; of the inputs, where they differ from
            the result.
        tensor_core: Whether tensor or matrix cores do the work; None where the name does not say.
        alignment: Elements that a GEMM's operands are aligned to (CUTLASS `_alignN`), or None.
        min_compute_major: The oldest generation that can run the kernel, by the one it was built for; or None.
    """

    family: str
    number_format: str | None
    tensor_core: bool | None
    alignment: int | None
    min_compute_major: int | None


# Words of which every match holds one, and the pattern. First match wins; the order is part of the meaning
# (`reshape_and_cache_flash` is no attention, `indexed_tf32f32` no gather).
_FAMILIES: tuple[tuple[str, WordedPattern], ...] = tuple(
    (family, WordedPattern(words, pattern))
    for family, words, pattern in (
        # Weights written out before a product: bitsandbytes, exllama's GPTQ, AWQ (CUDA, Triton), HQQ, GGUF. Not what unpacks inside
        # a product (`kgemm_4bit_inference`, Marlin), nor results of integer products and quantised messages (`dequant_mm_int32`).
        (
            "dequantize",
            "equantize reconstruct_ dequant_4bit_",
            r"kDequantizeBlockwise|\breconstruct_(?:gptq|exllama|exl2)?\w*kernel|\bdequantize_weights|awq_dequantize"
            r"|dequantize_[1-8]bit_\w*kernel|dequantize_block_(?:i?q\d|mxfp4)|dequant_4bit_(?:\w+_)?kernel",
        ),
        (
            "attention",
            "flash FlashAttn fmha Fmha FMHA ttention mem_eff attn_ sdpa KVCacheKernel mla_ kernel_stage MergeState bwd_",
            r"flash_(?:fwd|bwd|attn|attention)|FlashAttn|pytorch_flash|fmha|Fmha|FMHA|[Aa]ttention|mem_eff|attn_(?:fwd|bwd)|_attn_|sdpa"
            r"|With(?:Paged|Ragged)?KVCacheKernel|(?<!cache_)mla_(?:dec|pfl|prefill|a8w8|a16w16|combine)"
            # Decoding in two stages as SGLang and vLLM write it in Triton, FlashInfer's sum over parts, AOTriton's backward pass.
            r"|^_fwd_(?:grouped_)?kernel_stage[12]|MergeStates?Kernel|^bwd_(?:kernel_(?:dk_dv|dq|fuse)|preprocess)(?:\.kd)?$",
        ),
        # Inductor's templates, a product or a convolution with what follows it; all its other kernels say no more than that.
        ("gemm", "triton_tem_fused_", r"^triton_tem_fused_(?:\w+_)?(?:add|b|baddb|scaled_|int_|grouped_)?mm_"),
        ("conv", "triton_tem_fused_", r"^triton_tem_fused_\w*convolution"),
        ("triton", "triton_", r"^triton_"),
        # Low-rank adapters beside a layer: vLLM's and Punica's (`_bgmv_shrink_kernel`, `_lora_expand_kernel`), SGLang's
        # (`_sgemm_lora_a_kernel`,
        # `_chunked_lora_shrink_kernel`).
        (
            "adapter",
            "gmv_ _lora_",
            r"[bs]gmv_(?:shrink|expand)|_lora_(?:shrink|expand|[ab])_?\w*kernel|_lora_[ab]_kernel",
        ),
        # Activations scaled to 8 or 4 bits by a kernel of its own: vLLM, SGLang (`_static_quant_fp8`,
        # `per_token_group_quant_8bit_kernel`), aiter,
        # TensorRT-LLM, FlashInfer (`cvt_fp16_to_fp4`, `quantize_with_block_size`), Transformer Engine (`cast_transpose`),
        # not fused ones.
        (
            "quantize",
            "quant cvt_fp16_to_fp4 cast_transpose_",
            r"^(?!.*(?:[Nn]orm|silu|act_|gemm|[Aa]ttention|Kernel2|dequant|kDouble)).*(?:static_quant_fp8|scaled_fp8_quant|per_token(?:_group)?_(?:scaled_)?quant"
            r"|per_token_scaled_quant|scaled_int8_quant|cvt_fp16_to_fp4|quantize_with_block_size|per_block_quant|cast_transpose_\w*kernel)",
        ),
        # The last is bitsandbytes'.
        (
            "multi_tensor",
            "multi_tensor_apply used kOptimizer",
            r"multi_tensor_apply|[Ff]used_?[Aa]dam|[Ff]used_?[Ss]gd|kOptimizer(?:Static)?\d+bit",
        ),
        # Convolutions on tensor cores before Ampere; some write another layout than they read (`..._nhwc2nchw_tn_v1`).
        ("conv", "cudnn", r"[a-z]\d{3,5}cudnn"),
        (
            "layout",
            "nchw nhwc NCHW NHWC batched_transpose_ convertTensor_kernel genericTranspose_kernel",
            r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|NCHW2NHWC|NHWC2NCHW|NCHW2CNHW|CNHW2NCHW|^batched_transpose_\d"
            # cuDNN's own, for sizes that the special ones above do not take.
            r"|convertTensor_kernel|cudnn.*genericTranspose_kernel",
        ),
        (
            "norm",
            "norm Norm bn_ RowwiseMoments GammaBeta",
            r"batch_?norm|BatchNorm|\bbn_[fb]w|layer_?norm|LayerNorm|group_?norm|GroupNorm|rms_?norm|Rmsnorm|R[Mm][Ss]Norm"
            r"|RowwiseMoments|GammaBeta",
        ),
        ("softmax", "oft", r"[Ss]oft_?[Mm]ax"),
        (
            "conv",
            "onv cudnn inograd wgrad dgrad fprop bwd_weight igemm_ 2col 2im 2Col 2Im fft mult_and_sum_complex",
            r"convolve|scudnn|hcudnn|winograd|Winograd|wgrad|dgrad|fprop|[Cc]onv(?:olution|\d?d|_depthwise|2D)|_conv_|\bconv\b|4conv6"
            r"|conv_(?:fwd|bwd)|AsmConv|^gen_conv|bwd_weight|igemm_(?:fwd|bwd|wrw)|(?<!ms_deformable_)(?:im2col|col2im)|Im2Col|Im[23]d2Col|Col2Im[23]d|fft[12]d_(?:r2c|c2r)|pointwise_mult_and_sum_complex",
        ),
        # cuFFT's and rocFFT's; those inside convolutions (`fft2d_r2c_32x32`) are taken above.
        (
            "fft",
            "fft FFT Fft",
            r"\b(?:regular|vector|composite|dpRadix\w*|spRadix\w*)_?(?:fft|FFT|Fft)|^fft_rtc|_fft_\d+d_|\bfft_kernel",
        ),
        # torch's, cuDNN's and MIOpen's; embeddings of bags are pooled, too.
        (
            "pooling",
            "ool daptive",
            r"(?:[Mm]ax|[Aa]vg|[Aa]verage)_?[Pp]ool|\bpooling_[fb]w|mloPooling|[Aa]daptive_?(?:[Aa]verage|[Mm]ax)_?[Gg]rad",
        ),
        ("interpolation", "psample_ grid_sampler GridSampler", r"[Uu]psample_|grid_sampler|GridSampler"),
        # cuBLAS' for a few columns (`gemmSN`), in any format, and ROCm's for few tokens (vLLM): memory decides over them too.
        ("gemv", "gemv gemm wvSplitK LLGemm1 LLMM1", r"gemv|gemmk1|gemmSN|wvSplitK|LLGemm1|LLMM1"),
        (
            "gemm",
            "gemm GEMM Gemm Cijk_ nvjet cutlass matmul bmm_ splitK xdlops dot_kernel arlin fmoe_ fused_moe_kernel",
            r"gemm|GEMM|Gemm|Cijk_|nvjet|cutlass|_matmul|matmul_|^bmm_|splitK|xdlops|_dot_kernel|\bdot_kernel|[Mm]arlin|fmoe_"
            # Experts' products (vLLM, SGLang, aiter).
            r"|^(?:aiter_)?fused_moe_kernel",
        ),
        (
            "gather",
            "embedding compute_grad_weight adix mbtopk ergeSort bitonicSort sort unique segment index ather catter masked_s "
            "permute_ ReduceByKey fill_reverse_indices DeviceSegmentedSort DeviceSelect DeviceCompactInit UniqueByKey rocprim",
            r"(?<!rotary_)embedding|\bcompute_grad_weight|[Rr]adix_?[Ss]ort|[Rr]adixFindKth|mbtopk|[Mm]ergeSort|bitonicSort|sort(?:ed)?_?[Kk]|searchsorted|unique|segment|index(?:Select|Func|Add|Copy|Fill)"
            r"|indexing_backward|index_(?:elementwise|kernel|put|copy|fill|add|select)|gpu_index_kernel|[Gg]ather(?!Reduce)|[Ss]catter|masked_s|permute_pooled"
            r"|permute_(?:1|2)D|ReduceByKey"
            # Passes of a sort or a selection whose names do not say so: torch's around CUB's, CUB's, Thrust's, rocPRIM's.
            r"|fill_reverse_indices|sort_postprocess|DeviceSegmentedSort|DeviceSelect|DeviceCompactInit|UniqueByKey|__merge_sort"
            r"|rocprim.*(?:onesweep|block_merge|partition_kernel)",
        ),
        # torch's `cumsum` and its kin, CUB's, Thrust's and rocPRIM's; not the recurrences of state spaces (`selective_scan_fwd`).
        (
            "scan",
            "scan Scan",
            r"tensor_kernel_scan|DeviceScan(?:ByKey)?(?:Init)?Kernel|__scan::|lookback_scan|rocprim.*single_scan",
        ),
        ("cat", "CatArray", r"CatArray"),
        (
            "copy",
            "copy_kernel copy_device_to_device",
            r"(?:direct|converting)_copy_kernel|(?:b?float(?:16(?:tofloat32)?|8\w*)|half)_copy_kernel|\bcopy_kernel|copy_device_to_device",
        ),
        (
            "elementwise",
            "rotary_embedding lementwise pointwise dropout_kernel act_and_mul_kernel swiglu geglu ApplyRotary _rope_kernel",
            r"rotary_embedding|elementwise_kernel|ElementwiseKernel|pointwise|dropout_kernel|_elementwise_"
            # Gated activations and rotations of servers and of Liger; not what MIOpen runs inside convolutions.
            r"|act_and_mul_kernel|_(?:swiglu|geglu)_(?:forward|backward)_kernel|ApplyRotary|_rope_kernel",
        ),
        (
            "reduce",
            "reduce_kernel ReduceKernel DeviceReduceSingleTile",
            r"reduce_kernel|\bReduceKernel|DeviceReduceKernel|DeviceReduceSingleTile",
        ),
    )
)

# No tensor core has ever computed these: one channel at a time leaves no matrix to multiply.
_DEPTHWISE = ("depthwise", "grouped_direct")

_ALIGN = Pattern(r"_align(\d+)")
_GENERATIONS: tuple[tuple[int, Pattern[str]], ...] = tuple(
    (major, Pattern(pattern))
    for major, pattern in (
        (12, r"[sS][mM]12\d"),
        (10, r"[sS][mM]10\d"),
        # AMD, which counts otherwise, has matrix cores since gfx908.
        (9, r"[sS][mM]90|wgmma|(?:_ISA|gfx)9(?:08|0a|[45][0-9x])(?![0-9A-Za-z])"),
        (8, r"ampere_|sm8[0-9]|cutlass_8\d_|tf32"),
        (7, r"[Vv]olta_|[Tt]uring_|sm7[05]|cutlass_7\d_"),
    )
)


@lru_cache(maxsize=65_536)
def describe(name: str) -> KernelName:
    """What a kernel's name says.

    Args:
        name: As recorded, demangled or not.
    """
    family = family_of(name)
    matrix = family in MATRIX_FAMILIES
    stated = number_format(name, of_matrices=matrix)
    alignment = _ALIGN.search(name)
    return KernelName(
        family=family,
        number_format=stated,
        tensor_core=on_tensor_cores(name, stated) if matrix else None,
        alignment=int(alignment.group(1)) if alignment and len(alignment.group(1)) < 4 else None,
        min_compute_major=next((major for major, pattern in _GENERATIONS if pattern.search(name)), None)
        if matrix
        else None,
    )


def family_of(name: str) -> str:
    """What a kernel computes; `other` where its name does not say."""
    word = collective_word(name)
    if word in ("collective", "worded"):
        return "collective"
    if word == "either":
        # An exchange and arithmetic in one: how long it takes says nothing of either.
        return "other"
    # The library of embeddings has `gemm` in its own name.
    name = name.replace("fbgemm", "")
    return next((family for family, pattern in _FAMILIES if pattern.search(name)), "other")


def is_depthwise(name: str) -> bool:
    """Whether a convolution works channel by channel, which no tensor core does."""
    return any(word in name for word in _DEPTHWISE)
