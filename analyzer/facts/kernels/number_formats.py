"""In which number format a device kernel computes, whether on tensor cores, and whether it converts, as its name says.

What a name does not say stays None.
"""

from __future__ import annotations

from traces.patterns import Pattern, WordedPattern

# Number formats for which there are tensor cores (AMD: matrix cores) fast enough to matter in training.
SHORT_FORMATS = ("fp16", "bf16", "fp8", "fp4")
EIGHT_BITS = ("fp8", "fp4", "int8")
# Torch has one name for each pair of formats, since 2.15 one for all.
_CASTS = WordedPattern(
    "_copy_kernel WithCast",
    r"(?:b?float(?:16(?:tofloat32)?|8\w*)|half)_copy_kernel|converting_copy_kernel|LoadWithCast|StoreWithCast",
)
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
# The C++ types a kernel is instantiated for, at the start of its template arguments.
_TYPES: tuple[tuple[str, WordedPattern], ...] = (
    ("bf16", WordedPattern("BFloat16 __nv_bfloat16 __hip_bfloat16", r"BFloat16|__nv_bfloat16|__hip_bfloat16")),
    ("fp16", WordedPattern("Half half", r"c10::Half|__half|\bhalf\b")),
    ("complex", WordedPattern("complex float2 cuComplex", r"c10::complex|\bfloat2\b(?!,)|cuComplex")),
    ("fp32", WordedPattern("float", r"\bfloat\b")),
    ("fp64", WordedPattern("double", r"\bdouble\b")),
)
# `double` as a plain argument (an epsilon, a probability) says nothing; as the type of the functor, or of its operands, it does.
_FP64_TYPE = WordedPattern(
    "double", r"\{lambda\(double[,)]|Functor\w*<double\b|ReduceOp<double\b|kernel\w*<double\b|Functor<double"
)
_INTEGER_TYPE = WordedPattern(
    "{lambda( Functor", r"\{lambda\((?:long|bool|unsigned char|signed char|short)[,)]|Functor\w*<(?:int|long|bool)\b"
)


def is_cast(name: str) -> bool:
    """Whether a kernel converts between number formats, as far as its name tells."""
    return _CASTS.search(name) is not None


def number_format(name: str, *, of_matrices: bool) -> str | None:
    """The number format of a kernel's inputs, or None.

    Args:
        name: As recorded.
        of_matrices: Whether the kernel multiplies matrices: then words of its library's count, too.
    """
    if of_matrices:
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


def on_tensor_cores(name: str, stated: str | None) -> bool | None:
    """Whether tensor or matrix cores multiply; None where neither the name nor its number format says so."""
    if _SIMT.search(name):
        return False
    if _TENSOR_CORE.search(name):
        return True
    if stated == "tf32":
        return True
    return None
