"""Which version brought what fixes use: one row per name of torch's, torchvision's and the frameworks' public interfaces.

A version of torch from 1.12 on is that of the first release whose wheel on PyPI holds the name (2.7 back to 1.12, read on
2026-11-22); an earlier one, and that of another package, is that of its release notes or documentation. What is as old as
torch 1.8, the oldest whose traces are read, needs no row. The last rows are what a card of NVIDIA needs.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from analyzer.facts.recording.versions import Version
from traces.patterns import Pattern

Where = Literal["cpu", "device", "cuda", "rocm"]


class Api(msgspec.Struct, frozen=True):
    """A part of an interface.

    Args:
        pattern: What a fix that uses it says in its code.
        since: The first version that has it.
        package: Whose version: as the package is installed.
        where: Which programs the version holds for, those on the CPU, on a device, or on a card of NVIDIA or of AMD;
            None for all.
    """

    pattern: Pattern[str]
    since: Version
    package: str = "torch"
    where: Where | None = None


def _api(pattern: str, since: Version, package: str = "torch", where: Where | None = None) -> Api:
    return Api(Pattern(pattern), since, package, where)


APIS = (
    # Optimizers. `fused` came to one class and one device after the other (pytorch#124905 and kin for the CPU).
    _api(r"\bAdam\(.*fused=True", (1, 13), where="device"),
    _api(r"\bAdamW\(.*fused=True", (2, 0), where="device"),
    _api(r"\bSGD\(.*fused=True", (2, 3), where="device"),
    _api(r"\bAdagrad\(.*fused=True", (2, 12), where="device"),  # release blog of 2.12 (pytorch#177672); refused before
    _api(r"fused=True", (2, 0), where="device"),
    _api(r"fused=True", (2, 4), where="cpu"),
    _api(r"torch\.optim\.\w+\(.*foreach=True", (1, 12)),
    _api(r"Adafactor\(.*foreach=True", (2, 5)),
    _api(r"clip_grad_norm_\(.*foreach=True", (2, 0)),
    # Of tensors that get gradients through it: behind 2.0 (pytorch#102409 of July 2023).
    _api(r"_foreach_norm\(list\(", (2, 1)),
    _api(r"_foreach_norm", (1, 12)),
    _api(r"_foreach_lerp_", (2, 0)),
    _api(r"_foreach_copy_", (2, 1)),  # pytorch#107226 of August 2023, behind 2.0 (issue 90539 asks for it)
    _api(r"\.to_local\(", (2, 0)),
    _api(r"functional\.gelu\(.*approximate=", (1, 12)),
    # One name for the module of whichever device there is: documentation of 2.6.
    _api(r"torch\.accelerator\.|torch\.(?:Event|Stream)\(", (2, 6)),
    # The compiler and graphs.
    _api(r"torch\.compile\b", (2, 0)),
    _api(r"torch\.compile\([^)]*dynamic=", (2, 0)),
    _api(r"TORCH_LOGS", (2, 1)),
    _api(r"_dynamo\.config\.capture_scalar_outputs", (2, 0)),
    _api(r"layer\.compile\(\)", (2, 3)),  # 2.3 has `nn.Module.compile`; earlier ones were not looked at
    _api(r"guard_filter_fn|skip_guard_on_", (2, 8)),  # pytorch#155083
    _api(r"_dynamo\.mark_static_address", (2, 1)),
    _api(
        r"make_graphed_callables|torch\.cuda\.graph\b|torch\.cuda\.CUDAGraph\b", (1, 10)
    ),  # release notes of 1.10: CUDA graphs
    # Attention, and other functions.
    _api(r"is_grads_batched", (1, 12)),  # documentation of 1.12; earlier ones were not looked at
    _api(r"scaled_dot_product_attention|attn_implementation=\"sdpa\"", (2, 0)),
    _api(r"torch\.nn\.attention import .*sdpa_kernel|sdpa_kernel\(", (2, 3)),
    _api(r"flex_attention", (2, 5)),
    _api(r"\bparametrize\b", (1, 9)),  # release notes of 1.9: torch.nn.utils.parametrize
    _api(r"grouped_mm", (2, 10)),
    _api(r"torch\.linalg\.eigh", (1, 8)),  # release notes of 1.8
    _api(r"torch\.linalg\.inv_ex", (1, 9)),  # documentation of 1.9
    _api(r"fill_uninitialized_memory", (2, 2)),  # documentation of 2.2
    _api(r"torch\._assert_async", (1, 9)),  # pytorch#53086 of March 2021, behind 1.8
    _api(r"set_default_validate_args", (1, 8)),  # documentation of 1.8
    _api(r"nonzero_static", (2, 1)),
    _api(r"torch\.func\b|torch\.vmap", (2, 0)),
    _api(r"torch\.inference_mode", (1, 9)),  # release notes of 1.9
    # Numbers.
    _api(r"set_float32_matmul_precision", (1, 12)),
    _api(r"\.fp32_precision", (2, 9)),
    _api(r"preferred_blas_library", (2, 4)),  # pytorch#122106 of April 2024, behind 2.3
    _api(r"torch\.autocast", (1, 10)),  # release notes of 1.10
    _api(r"torch\.amp\.GradScaler", (2, 3)),
    # Memory.
    _api(r"use_reentrant=False", (1, 11)),  # release notes of 1.11
    _api(r"expandable_segments", (2, 1)),  # pytorch#99093
    _api(
        r"expandable_segments", (2, 12), where="rocm"
    ),  # release blog of 2.12 (pytorch#177974); a warning and no effect before
    _api(r"autograd\.graph\.save_on_cpu", (1, 10)),  # documentation of 1.10; that of 1.9 lacks it
    _api(r"garbage_collection_threshold", (1, 12)),  # documentation of 1.12, notes on CUDA
    # Loading.
    _api(r"in_order=False", (2, 6)),
    # Several devices.
    _api(r"cpu:gloo,cuda:nccl", (2, 0)),
    _api(r"bf16_compress_hook", (1, 10)),  # documentation of 1.10
    _api(r"static_graph=True", (1, 11)),  # documentation of 1.11
    _api(r"\bfully_shard\(|MixedPrecisionPolicy", (2, 6)),
    _api(r"set_modules_to_forward_prefetch|set_requires_(?:gradient_sync|all_reduce)", (2, 6)),
    _api(r"set_separate_reduce_scatter_group", (2, 13)),  # in 2.13; pytorch#186335 of June 2026
    _api(r"FullyShardedDataParallel\(.*forward_prefetch", (1, 13)),
    _api(r"\bMixedPrecision\(|ShardingStrategy\.SHARD_GRAD_OP", (1, 12)),
    _api(r"init_device_mesh", (2, 2)),
    _api(r"n_microbatches=", (2, 4)),
    _api(r"checkpoint\.async_save", (2, 3)),
    _api(r"functional\.rms_norm\(", (2, 4)),  # documentation of 2.4
    _api(r"_micro_pipeline_tp|enable_symm_mem_for_group", (2, 6)),
    # torchvision: documentation of 0.15 (v2 as a beta) and 0.16 (`to_dtype` with `scale`).
    _api(r"\bv2\.functional\.to_dtype|v2\.ToDtype", (0, 16), "torchvision"),
    _api(r"\bv2\.", (0, 15), "torchvision"),
    # pytorch#69862; 1.10 raises an ImportError (pytorch.github.io#1032).
    _api(r"torch\.utils\.data\.default_collate", (1, 11)),
    _api(r"decode_jpeg\([^)]*device=", (0, 10), "torchvision"),
    # Cards of NVIDIA. torch/_inductor/exc.py (GPUTooOldForTriton) refuses those below 7.0 (pytorch#93801).
    _api(r"torch\.compile\(|flex_attention", (7, 0), "compute capability", "cuda"),
    # Tensor cores take bfloat16 and TF32 from 8.0 on (CUTLASS and Transformer Engine, tables of what each architecture supports),
    # float16 from 7.0 on (Mojo's documentation of NVIDIA's matrix instructions).
    _api(r"autocast\([^)]*float16", (7, 0), "compute capability", "cuda"),
    _api(
        r"autocast\([^)]*bfloat16|allow_tf32|fp32_precision|set_float32_matmul_precision",
        (8, 0),
        "compute capability",
        "cuda",
    ),
    # aten/src/ATen/cuda/CUDAGraph.cpp: "CUDA graphs may only be used in Pytorch built with CUDA >= 11.0".
    # Collectives in a graph: PyTorch's notes on CUDA ("NCCL versions 2.9.6 or later", the first 2.9 that was released) and NCCL's
    # guide, "Using NCCL with CUDA Graphs".
    _api(r"NCCL_ASYNC_ERROR_HANDLING", (2, 9), "NCCL", "cuda"),
    _api(r"NCCL_ASYNC_ERROR_HANDLING", (11, 3), "CUDA", "cuda"),
    _api(r"reduce-overhead|max-autotune\"|make_graphed_callables|torch\.cuda\.graph\b", (11, 0), "CUDA", "cuda"),
)

# What only programs of one framework can follow, by the names that it is imported under.
OF_FRAMEWORKS = (
    (Pattern(r"\bds_config\b"), ("deepspeed", "megatron")),
    (Pattern(r"\btorchrec\b"), ("torchrec",)),
    (Pattern(r"DataCollatorWithPadding|AutoModel\b"), ("transformers",)),
    (Pattern(r"\bgymnasium\b"), ("gymnasium", "stable_baselines3")),
)

# torch/_dynamo/eval_frame.py and torch/__init__.py of the wheels: "Python 3.12+ not supported" up to torch 2.3, 3.13 up to 2.5.
COMPILES_ON_PYTHON = (((3, 12), (2, 4)), ((3, 13), (2, 6)))
