"""What a device kernel's name says: what it computes, in which number format, on tensor cores or not, how aligned.

Names were read from traces of torch 1.8 to now on V100, A100, H100, B200 and MI210 to MI300X. Everything works on one string and
is called once per distinct name. What a name does not say stays None: it is never guessed, and no name says which card it ran on
(kernels built for an older generation run on a newer one).
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from traces.patterns import Pattern
from traces.reader.names.collectives import collective_word

# Number formats for which there are tensor cores (AMD: matrix cores) fast enough to matter in training.
SHORT_FORMATS = ("fp16", "bf16", "fp8", "fp4")
EIGHT_BITS = ("fp8", "fp4", "int8")
MATRIX_FAMILIES = ("gemm", "conv", "attention")
# One pass over memory and little arithmetic: what a compiler fuses into its neighbours.
POINTWISE_FAMILIES = ("elementwise", "copy", "cat", "reduce", "softmax", "norm")


class KernelName(msgspec.Struct, frozen=True):
    """What one name says.

    Args:
        family: gemm, gemv (one vector: memory decides, not tensor cores), conv, attention, layout (transposes around
            convolutions), elementwise, copy, cat, reduce, softmax, norm, gather (index, embedding, sort), scan (running sums),
            multi_tensor (foreach and fused optimizers), dequantize (packed weights written out before a product), quantize
            (activations scaled to fewer bits before one), adapter (low-rank adapters), fft, triton, collective or other.
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


# First match wins; the order is part of the meaning (`reshape_and_cache_flash` is no attention, `indexed_tf32f32` no gather).
_FAMILIES: tuple[tuple[str, Pattern[str]], ...] = tuple(
    (family, Pattern(pattern))
    for family, pattern in (
        # Weights written out before a product: bitsandbytes, exllama's GPTQ, AWQ (CUDA, Triton), HQQ, GGUF. Not what unpacks inside
        # a product (`kgemm_4bit_inference`, Marlin), nor results of integer products and quantised messages (`dequant_mm_int32`).
        (
            "dequantize",
            r"kDequantizeBlockwise|\breconstruct_(?:gptq|exllama|exl2)?\w*kernel|\bdequantize_weights|awq_dequantize"
            r"|dequantize_[1-8]bit_\w*kernel|dequantize_block_(?:i?q\d|mxfp4)|dequant_4bit_(?:\w+_)?kernel",
        ),
        (
            "attention",
            r"flash_(?:fwd|bwd|attn|attention)|FlashAttn|pytorch_flash|fmha|Fmha|FMHA|[Aa]ttention|mem_eff|attn_(?:fwd|bwd)|_attn_|sdpa"
            r"|With(?:Paged|Ragged)?KVCacheKernel|(?<!cache_)mla_(?:dec|pfl|prefill|a8w8|a16w16|combine)"
            # Decoding in two stages as SGLang and vLLM write it in Triton, FlashInfer's sum over parts, AOTriton's backward pass.
            r"|^_fwd_(?:grouped_)?kernel_stage[12]|MergeStates?Kernel|^bwd_(?:kernel_(?:dk_dv|dq|fuse)|preprocess)(?:\.kd)?$",
        ),
        # Inductor's templates, a product or a convolution with what follows it; all its other kernels say no more than that.
        ("gemm", r"^triton_tem_fused_(?:\w+_)?(?:add|b|baddb|scaled_|int_|grouped_)?mm_"),
        ("conv", r"^triton_tem_fused_\w*convolution"),
        ("triton", r"^triton_"),
        # Low-rank adapters beside a layer: vLLM's and Punica's (`_bgmv_shrink_kernel`, `_lora_expand_kernel`), SGLang's
        # (`_sgemm_lora_a_kernel`,
        # `_chunked_lora_shrink_kernel`).
        ("adapter", r"[bs]gmv_(?:shrink|expand)|_lora_(?:shrink|expand|[ab])_?\w*kernel|_lora_[ab]_kernel"),
        # Activations scaled to 8 or 4 bits by a kernel of its own: vLLM, SGLang (`_static_quant_fp8`,
        # `per_token_group_quant_8bit_kernel`), aiter,
        # TensorRT-LLM, FlashInfer (`cvt_fp16_to_fp4`, `quantize_with_block_size`), Transformer Engine (`cast_transpose`),
        # not fused ones.
        (
            "quantize",
            r"^(?!.*(?:[Nn]orm|silu|act_|gemm|[Aa]ttention|Kernel2|dequant|kDouble)).*(?:static_quant_fp8|scaled_fp8_quant|per_token(?:_group)?_(?:scaled_)?quant"
            r"|per_token_scaled_quant|scaled_int8_quant|cvt_fp16_to_fp4|quantize_with_block_size|per_block_quant|cast_transpose_\w*kernel)",
        ),
        # The last is bitsandbytes'.
        ("multi_tensor", r"multi_tensor_apply|[Ff]used_?[Aa]dam|[Ff]used_?[Ss]gd|kOptimizer(?:Static)?\d+bit"),
        # Convolutions on tensor cores before Ampere; some write another layout than they read (`..._nhwc2nchw_tn_v1`).
        ("conv", r"[a-z]\d{3,5}cudnn"),
        (
            "layout",
            r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|NCHW2NHWC|NHWC2NCHW|NCHW2CNHW|CNHW2NCHW|^batched_transpose_\d"
            # cuDNN's own, for sizes that the special ones above do not take.
            r"|convertTensor_kernel|cudnn.*genericTranspose_kernel",
        ),
        (
            "norm",
            r"batch_?norm|BatchNorm|\bbn_[fb]w|layer_?norm|LayerNorm|group_?norm|GroupNorm|rms_?norm|Rmsnorm|R[Mm][Ss]Norm"
            r"|RowwiseMoments|GammaBeta",
        ),
        ("softmax", r"[Ss]oft_?[Mm]ax"),
        (
            "conv",
            r"convolve|scudnn|hcudnn|winograd|Winograd|wgrad|dgrad|fprop|[Cc]onv(?:olution|\d?d|_depthwise|2D)|_conv_|\bconv\b|4conv6"
            r"|conv_(?:fwd|bwd)|AsmConv|^gen_conv|bwd_weight|igemm_(?:fwd|bwd|wrw)|(?<!ms_deformable_)(?:im2col|col2im)|Im2Col|Im[23]d2Col|Col2Im[23]d|fft[12]d_(?:r2c|c2r)|pointwise_mult_and_sum_complex",
        ),
        # cuFFT's and rocFFT's; those inside convolutions (`fft2d_r2c_32x32`) are taken above.
        (
            "fft",
            r"(?:^|\b)(?:regular|vector|composite|dpRadix\w*|spRadix\w*)_?[fF][fF][tT]|^fft_rtc|_fft_\d+d_|\bfft_kernel",
        ),
        # cuBLAS' for a few columns (`gemmSN`), in any format, and ROCm's for few tokens (vLLM): memory decides over them too.
        ("gemv", r"gemv|gemmk1|gemmSN|wvSplitK|LLGemm1|LLMM1"),
        (
            "gemm",
            r"gemm|GEMM|Gemm|Cijk_|nvjet|cutlass|_matmul|matmul_|^bmm_|splitK|xdlops|_dot_kernel|\bdot_kernel|[Mm]arlin|fmoe_"
            # Experts' products (vLLM, SGLang, aiter).
            r"|^(?:aiter_)?fused_moe_kernel",
        ),
        (
            "gather",
            r"(?<!rotary_)embedding|\bcompute_grad_weight|[Rr]adix_?[Ss]ort|[Rr]adixFindKth|mbtopk|[Mm]ergeSort|bitonicSort|sort(?:ed)?_?[Kk]|searchsorted|unique|segment|index(?:Select|Func|Add|Copy|Fill)"
            r"|indexing_backward|index_(?:elementwise|kernel|put|copy|fill|add|select)|gpu_index_kernel|[Gg]ather(?!Reduce)|[Ss]catter|masked_s|permute_pooled"
            r"|permute_(?:1|2)D|ReduceByKey"
            # Passes of a sort or a selection whose names do not say so: torch's around CUB's, CUB's, Thrust's, rocPRIM's.
            r"|fill_reverse_indices|sort_postprocess|DeviceSegmentedSort|DeviceSelect|DeviceCompactInit|UniqueByKey|__merge_sort"
            r"|rocprim.*(?:onesweep|block_merge|partition_kernel)",
        ),
        # torch's `cumsum` and its kin, CUB's, Thrust's and rocPRIM's; not the recurrences of state spaces (`selective_scan_fwd`).
        ("scan", r"tensor_kernel_scan|DeviceScan(?:ByKey)?(?:Init)?Kernel|__scan::|lookback_scan|rocprim.*single_scan"),
        ("cat", r"CatArray"),
        (
            "copy",
            r"(?:direct|converting)_copy_kernel|(?:b?float(?:16(?:tofloat32)?|8\w*)|half)_copy_kernel|\bcopy_kernel|copy_device_to_device",
        ),
        (
            "elementwise",
            r"rotary_embedding|elementwise_kernel|ElementwiseKernel|pointwise|dropout_kernel|_elementwise_"
            # Gated activations and rotations of servers and of Liger; not what MIOpen runs inside convolutions.
            r"|act_and_mul_kernel|_(?:swiglu|geglu)_(?:forward|backward)_kernel|ApplyRotary|_rope_kernel",
        ),
        ("reduce", r"reduce_kernel|\bReduceKernel|DeviceReduceKernel|DeviceReduceSingleTile"),
    )
)

# Torch has one name for each pair of formats, since 2.15 one for all.
_CASTS = Pattern(
    r"(?:b?float(?:16(?:tofloat32)?|8\w*)|half)_copy_kernel|converting_copy_kernel|LoadWithCast|StoreWithCast"
)
_CAST_WORDS = ("_copy_kernel", "WithCast")
# No tensor core has ever computed these: one channel at a time leaves no matrix to multiply.
_DEPTHWISE = ("depthwise", "grouped_direct")

_ALIGN = Pattern(r"_align(\d+)")
# Tensile: which index runs along which matrix, then the types. What adds up the parts of a split product names no indices.
_CIJK = Pattern(r"Cijk_A\w+?_B\w+?_([A-Z0-9]+?)_(MX_)?")
_CIJK_FORMATS = {
    "S": "fp32",
    "D": "fp64",
    "B": "bf16",
    "H": "fp16",
    "C": "complex",
    "Z": "complex",
    "F": "fp8",
    "I": "int8",
    "4": "int8",
}
_NVJET = Pattern(r"nvjet_(?:sm\d+_)?([a-z])[a-z]{2,4}_")
# `s` is single precision, which these kernels, all of them for tensor cores, multiply as TF32.
_NVJET_FORMATS = {"h": "fp16", "t": "bf16", "q": "fp8", "o": "fp4", "s": "tf32"}

# Number formats of libraries' names, where the formats are words and not C++ types; first match wins.
_WORDS: tuple[tuple[str, Pattern[str]], ...] = tuple(
    (number_format, Pattern(pattern))
    for number_format, pattern in (
        ("complex", r"_g?[cz]gemm|float2\b.*_complex|c10::complex"),
        ("tf32", r"tf32|TF32|tensorop_s(?:1688|161616|16816|1684)gemm_\d|s1688(?:fprop|dgrad|wgrad)_optimized_\d"),
        ("fp4", r"ue4m3xf4|E2m1E2m1"),
        ("fp8", r"[eE]4[mM]3|[eE]5[mM]2|[Ff]p8|FP8"),
        ("bf16", r"bf16|[bB]float16|BFloat16|DF16b"),
        (
            "fp16",
            r"(?<!b)f(?:p)?16|fp16|hmma|_half\b|c10::Half|__half|h884|h1688|h16816|\bhgemm|_hgemm|hcudnn|half_t|DF16_",
        ),
        ("int8", r"i8816|i16832|_int8|s8_s8|i8i8"),
        ("fp64", r"dgemm|d884gemm|dcudnn|f64f64"),
        ("fp32", r"sgemm|scudnn|f32f32_f32f32|_fp32|convolve_sgemm|fp32_fp32|fmha_cutlass[FB]_f32_|float_double_float"),
    )
)
_TENSOR_CORE = Pattern(
    r"tensorop|xmma|h884|s884|d884|h1688|s1688|s16816|h16816|161616|hmma|wgmma|gmma|i8816|nvjet|fmha|Fmha|flash_(?:fwd|bwd)"
    r"|mm_\w*_sm1\d\d|sm(?:90|1\d\d)_|[GU]mmaWarpSpecialized|FlashAttn\w*Sm\d|[Mm]arlin|xdlops|_xdl_|_mfma|gtcx|ck_tile|MI\d+x\d+x\d+"
)
_SIMT = Pattern(
    r"simt|(?:volta|turing|maxwell|pascal|ampere)_(?:sgemm|dgemm|scudnn|cgemm|gcgemm|zgemm)|scudnn|convolve_sgemm|sgemm_largek|magma_sgemm"
    # The instruction that an xmma kernel is made of: plain multiply-adds, or `tensor16x8x16`.
    r"|_[dfh]fma2?_|(?<!t)f32f32_f32f32|[wd]grad\w*_engine|wgrad_alg\d|dgrad2d_alg|gemmSN|explicit_convolve"
)
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
# The C++ types a kernel is instantiated for, at the start of its template arguments.
_TYPES: tuple[tuple[str, Pattern[str]], ...] = (
    ("bf16", Pattern(r"BFloat16|__nv_bfloat16|__hip_bfloat16")),
    ("fp16", Pattern(r"c10::Half|__half|\bhalf\b")),
    ("complex", Pattern(r"c10::complex|\bfloat2\b(?!,)|cuComplex")),
    ("fp32", Pattern(r"\bfloat\b")),
    ("fp64", Pattern(r"\bdouble\b")),
)
# `double` as a plain argument (an epsilon, a probability) says nothing; as the type of the functor, or of its operands, it does.
_FP64_TYPE = Pattern(r"\{lambda\(double[,)]|Functor\w*<double\b|ReduceOp<double\b|kernel\w*<double\b|Functor<double")
_INTEGER_TYPE = Pattern(r"\{lambda\((?:long|bool|unsigned char|signed char|short)[,)]|Functor\w*<(?:int|long|bool)\b")


@lru_cache(maxsize=65_536)
def describe(name: str) -> KernelName:
    """What a kernel's name says.

    Args:
        name: As recorded, demangled or not.
    """
    family = family_of(name)
    number_format = _number_format(name, family)
    alignment = _ALIGN.search(name)
    matrix = family in MATRIX_FAMILIES
    return KernelName(
        family=family,
        number_format=number_format,
        tensor_core=_tensor_core(name, number_format) if matrix else None,
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


def is_cast(name: str) -> bool:
    """Whether a kernel converts between number formats, as far as its name tells."""
    # Words are looked up in a hundredth of the time that a pattern without a fixed beginning takes.
    return any(word in name for word in _CAST_WORDS) and _CASTS.search(name) is not None


def is_depthwise(name: str) -> bool:
    """Whether a convolution works channel by channel, which no tensor core does."""
    return any(word in name for word in _DEPTHWISE)


def _number_format(name: str, family: str) -> str | None:
    if family in MATRIX_FAMILIES:
        stated = _coded_format(name)
        if stated:
            return stated
        word = next((word for word, pattern in _WORDS if pattern.search(name)), None)
        if word:
            return word
    if _FP64_TYPE.search(name):
        return "fp64"
    if _INTEGER_TYPE.search(name):
        return None
    found = next((kind for kind, pattern in _TYPES if pattern.search(name)), None)
    # A lone `double` may be any scalar argument.
    return None if found == "fp64" else found


def _coded_format(name: str) -> str | None:
    """The number format of the first matrix, where the library codes it as a letter."""
    tensile = _CIJK.search(name)
    if tensile:
        types, in_short = tensile.groups()
        # MX: computed as XF32, which is AMD's TF32. B8 is the 8-bit float with two bits of mantissa, no bfloat16.
        return "tf32" if in_short else "fp8" if types.startswith("B8") else _CIJK_FORMATS.get(types[0])
    nvjet = _NVJET.search(name)
    return _NVJET_FORMATS.get(nvjet.group(1)) if nvjet else None


def _tensor_core(name: str, number_format: str | None) -> bool | None:
    if _SIMT.search(name):
        return False
    if _TENSOR_CORE.search(name):
        return True
    if number_format == "tf32":
        return True
    return None
