"""Environment variables that slow a run down, or tell how it was tuned: a fixed list, and values of a fixed form only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_FLAG = re.compile(r"\d{1,6}|[Tt]rue|TRUE|[Ff]alse|FALSE|[Oo]n|ON|[Oo]ff|OFF|[Yy]es|[Nn]o")
_LEVEL = re.compile(r"\d{1,2}|[A-Za-z]{1,10}")
_OPTIONS = re.compile(r"[a-z_]{1,40}:[\w.\[\]>-]{1,40}(?:,[a-z_]{1,40}:[\w.\[\]>-]{1,40}){0,9}")
# What a value may look like; one of another form is only said to be set, as it might be anything.
VARIABLES = {
    **dict.fromkeys(
        (
            "AMD_SERIALIZE_COPY",
            "AMD_SERIALIZE_KERNEL",
            "CUDA_DEVICE_MAX_CONNECTIONS",
            "CUDA_LAUNCH_BLOCKING",
            "DNNL_VERBOSE",
            "HIP_LAUNCH_BLOCKING",
            "MALLOC_CHECK_",
            "MKL_NUM_THREADS",
            "MKL_VERBOSE",
            "NCCL_BLOCKING_WAIT",
            "NCCL_IB_DISABLE",
            "NCCL_P2P_DISABLE",
            "NCCL_SHM_DISABLE",
            "NVIDIA_TF32_OVERRIDE",
            "OMP_NUM_THREADS",
            "ONEDNN_VERBOSE",
            "OPENBLAS_NUM_THREADS",
            "PYTHONDEVMODE",
            "PYTORCH_JIT",
            "PYTORCH_NO_CUDA_MEMORY_CACHING",
            "PYTORCH_NO_HIP_MEMORY_CACHING",
            "TOKENIZERS_PARALLELISM",
            "TORCHDYNAMO_DISABLE",
            "TORCH_COMPILE_DISABLE",
            "TORCH_NCCL_BLOCKING_WAIT",
            "TORCH_NCCL_NAN_CHECK",
            "TORCH_SHOW_CPP_STACKTRACES",
        ),
        _FLAG,
    ),
    **dict.fromkeys(
        ("NCCL_DEBUG", "OMP_WAIT_POLICY", "PYTHONMALLOC", "TORCH_CPP_LOG_LEVEL", "TORCH_DISTRIBUTED_DEBUG"), _LEVEL
    ),
    **dict.fromkeys(("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"), _OPTIONS),
}
ODD = "(set)"


def changed_since(before: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """The listed variables that the program itself has set to another value: from outside they have no effect.

    Args:
        before: Those that were set when the program began, as `describe_environment` gives them.
        environment: Those of now.
    """
    return [name for name, value in describe_environment(environment).items() if before.get(name) != value]


def describe_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The listed variables that are set."""
    return {
        name: environment[name] if form.fullmatch(environment[name]) else ODD
        for name, form in VARIABLES.items()
        if environment.get(name)
    }
