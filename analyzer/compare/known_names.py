"""Names of kernels and ops of known libraries: all that a file may hold that is made to be handed around.

Patterns of what is private miss some, and a hash of a phone number is soon guessed. What is public can be listed: namespaces and
first words of the libraries whose names traces hold. A name is known where its first word is, and whatever else stands in it.
"""

from __future__ import annotations

import re
from functools import cache

from traces.patterns import Pattern

# C++ namespaces, and namespaces of ops, by library: torch, NVIDIA's, AMD's, and what models are built with.
_NAMESPACES = frozenset(
    (
        "at", "c10", "torch", "std", "at_cuda_detail", "aten", "prim", "prims", "quantized", "c10d", "_c10d_functional",
        "c10d_functional", "inductor", "profiler", "sparse", "mkldnn", "mkldnn_prepacked", "onednn", "mkl", "static_runtime",
        "torchvision", "torchaudio", "torchao", "autograd", "symm_mem", "rngprims", "higher_order",
        "cub", "thrust", "cutlass", "cutlass_cudnn_train", "cutlass_cudnn_infer", "cute", "cudnn", "cask_cudnn", "cask_cudnn_infer",
        "cask_cudnn_train", "cublasLt", "cusparse", "cusolver", "cufft", "cuda", "internal", "dot", "transformer_engine", "nvfuser",
        "ck", "ck_tile", "rocprim", "hipcub", "rocblas", "hipblaslt", "aiter", "miopen",
        "fbgemm", "fbgemm_gpu", "flash", "flash_attn", "pytorch_flash", "FLASH_NAMESPACE", "xformers", "vllm", "bitsandbytes",
    )
)  # fmt: skip
# Words of C++ that need no namespace: types, qualifiers, and how compilers write lambdas.
_PLAIN = frozenset(
    (
        "void", "float", "double", "int", "long", "short", "char", "bool", "unsigned", "signed", "const", "volatile", "true",
        "false", "half", "half2", "__half", "__half2", "__nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "bfloat16",
        "float2", "float4", "double2", "int2",
        "OffsetCalculator", "TrivialOffsetCalculator", "adamMode_t", "FixedDivisor", "function_traits", "epilogue", "biasType",
        "int3", "int4", "uint2", "uint4", "dim3", "size_t", "int8_t", "uint8_t", "int16_t", "int32_t", "int64_t", "uint32_t",
        "uint64_t", "__int128", "lambda", "operator", "auto", "decltype", "nullptr", "enum", "anonymous", "namespace", "type",
        "TensorListMetadata", "FusedOptimizerTensorListMetadata", "TensorListScalarListMetadata", "Tensor", "instance", "unnamed",
    )
)  # fmt: skip
# First words of kernels that stand in no namespace, with the library that names them so.
_HEADS = (
    # cuBLAS, cuDNN: by architecture, and older ones without
    r"(?:sm\d{2,3}|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell)_\w*(?:gemm|cudnn|xmma|fprop|dgrad|wgrad|conv|s\d+|h\d+)\w*",
    r"(?:cudnn|cublas|cusparse|cutlass|nvjet|cask|xmma|fmha|gemmSN|gemmk1|gemv[A-Z0-9]\w*?|dot|gemvNSP|splitKreduce|scal)_\w+",
    r"(?:im|ex)plicit_convolve_\w+|(?:wgrad|dgrad|fprop)_(?:alg\w*|engine|2d)\w*|fft\dd_[rc]2[rc]_\w+|flip_filter"
    r"|(?:nchw|nhwc)To(?:Nhwc|Nchw)Kernel|[sdchz]gemm_\w+|pointwise_mult_and_sum_complex|transpose_readWrite_alignment_kernel"
    r"|reduce_1Block_kernel|dot_kernel|compute_gemm_pointers|bn_(?:fw|bw)_\w+|op_(?:generic_)?tensor_kernel|cunn_\w+|magma_\w+",
    # hipBLASLt and Tensile, MIOpen
    r"Cijk_[A-Z]\w+|igemm_(?:fwd|bwd|wrw)_gtc\w+|(?:batched_)?transpose_\d+x\d+\w*|MIOpen\w+|miopen\w+|naive_conv_\w+|SubTensorOp\w+"
    r"|transpose_(?:CNHW|NCHW)2\w+",
    # NCCL, RCCL
    r"nccl(?:Dev)?Kernel_\w+|rccl\w*Kernel_\w+",
    # torch: without a namespace, and what its compiler makes of ops
    r"multi_tensor_apply_kernel|(?:un|)vectorized_\w+_kernel|elementwise_kernel\w*|softmax_warp_\w+|indexSelect\w+|indexFunc\w+"
    r"|triton_(?:poi|red|per|tem|for|mm|spl)_(?:fused|tem)_\w+|Mem(?:cpy|set) [A-Z]\w+(?: \(\w+ -> \w+\))?|Memset \(\w+\)",
    r"flash_(?:fwd|bwd)_\w+|fmha_\w+|kernel_cutlass_\w+|split_embedding_(?:backward_)?codegen_\w+",
)  # fmt: skip
_HEAD = Pattern("|".join(f"(?:{head})" for head in _HEADS))
# What begins a chain of names: `at` of `at::native::add`.
_FIRST = Pattern(r"(?<![\w:.])[A-Za-z_]\w*")
# Types of cuBLAS and cuDNN without a namespace.
_TYPES = Pattern(
    r"(?:cublas|cudnn|nccl|hip|cusparse|kernel_(?:conv|grad)_)\w+|cutlass_(?:\d+|tensorop|simt|wmma)_\w+|curandState\w+|(?:Adam|SGD|Lamb|Scale|Axpby|L2Norm)\w*Functor"
)
_MANGLED = Pattern(r"_ZN?K?(?:\d+_GLOBAL__N_\w*?)?(\d+)([A-Za-z_]\w*)$")
_C_PLUS_PLUS = Pattern(r"[\w\s<>()\[\]{},:&*#!+-]+$")
# As long as a telephone number; sizes and counts are shorter.
_MANY_DIGITS = Pattern(r"\d{7}|\d[- ]\d")
_OPTIMIZERS = (
    r"(?:Adadelta|Adafactor|Adagrad|Adam|AdamW|Adamax|ASGD|LBFGS|Muon|NAdam|RAdam|RMSprop|Rprop|SGD|SparseAdam)"
)
# Up to torch 1.10 only those of several gradients had a number.
_OLD_NODES = (
    r"(?:Addmm|Mm|Bmm|Baddbmm|T|View|UnsafeView|Transpose|Permute|Expand|Cat|Sum|Mean|Mul|Add|Sub|Div|Relu|Gelu|Sigmoid|Tanh|Softmax"
    r"|LogSoftmax|NllLoss|MaxPool2DWithIndices|AvgPool2D|AdaptiveAvgPool2D|NativeBatchNorm|NativeLayerNorm|CudnnBatchNorm"
    r"|CudnnConvolution|MkldnnConvolution|ThnnConv2D|Embedding|Dropout|FusedDropout|Index|Slice|Clone|Copy)"
)
# Ops and ranges that are not `library::op`.
_OPS = Pattern(
    r"(?:nccl|gloo|mpi|ucc|xccl|hccl):\w+(?: \d+->\d+)?"
    # Torch numbers the nodes it generates; those of a class that somebody wrote have no number.
    r"|(?:autograd::engine::evaluate_function: )?"
    rf"(?:[A-Z][A-Za-z0-9]*Backward\d+|{_OLD_NODES}Backward|torch::autograd::\w+|CompiledFunctionBackward)"
    r"|torch\.distributed\.\w+(?:\.\w+)*::\w+|torch::\w+(?:::\w+)+"
    rf"|Optimizer\.(?:step|zero_grad)#{_OPTIMIZERS}\.(?:step|zero_grad)"
    r"|enumerate\(DataLoader\)#_(?:Single|Multi)Process(?:ing)?DataLoaderIter\.__next__"
    r"|Torch-Compiled Region(?:: \d+/\d+)?|TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper Prologue"
    r"|CompiledFunction|Python GC|detach_?|ProfilerStep#\d+|DistributedDataParallel\.forward"
)
_OP = Pattern(r"([A-Za-z_]\w*)::[A-Za-z_]\w*(?:\.\w+)?")


@cache
def is_known_op(name: str) -> bool:
    """Whether the name of an op or a range is one that a known library gives."""
    if len(name) > 200 or _MANY_DIGITS.search(name):
        return False
    op = _OP.fullmatch(name)
    if op is not None:
        return op[1] in _NAMESPACES
    return _OPS.fullmatch(name) is not None or is_known_kernel(name)


@cache
def is_known_kernel(name: str) -> bool:
    """Whether the name of a kernel is one that a known library gives, its template and call arguments included."""
    if not _C_PLUS_PLUS.match(name) and not name.startswith("Mem"):
        return False
    if _MANY_DIGITS.search(re.sub(r"(?<=[A-Za-z_])\d+", "", name)):
        return False
    mangled = _MANGLED.match(name)
    if mangled is not None:
        return mangled[2][: int(mangled[1])] in _NAMESPACES
    plain = name.removeprefix("void ")
    head = _HEAD.match(plain)
    if head is not None and not _goes_on(plain, head.end()):
        return all(map(_is_known_word, _FIRST.findall(plain[head.end() :])))
    return _is_in_namespace(plain) and all(map(_is_known_word, _FIRST.findall(plain)))


def _goes_on(text: str, end: int) -> bool:
    return end < len(text) and (text[end].isalnum() or text[end] in "_:")


def _is_in_namespace(text: str) -> bool:
    """Whether the function's own name is qualified by a namespace that is known; that of a file's own says nothing."""
    text = text.removeprefix("(anonymous namespace)::")
    own = re.match(r"[A-Za-z_]\w*", text)
    if own is None:
        return False
    return _HEAD.match(text) is not None or (
        own[0] in _NAMESPACES and re.match(r"::[A-Za-z_(]", text[own.end() :]) is not None
    )


def _is_known_word(word: str) -> bool:
    return word in _PLAIN or word in _NAMESPACES or _TYPES.fullmatch(word) is not None
