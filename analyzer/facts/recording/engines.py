"""Which engine serves the model: it captures graphs, compiles and chooses formats by its own settings, not by the user's code.

By frames of Python, by the ranges engines open around a pass, and by their ops. Their kernels alone say nothing: engines borrow
them from one another.
"""

from __future__ import annotations

from analyzer.spans.labels import distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# vllm-project/vllm: vllm/v1/worker (gpu_model_runner, execute_context ranges); sgl-project/sglang: python/sglang/srt.
_SIGNS = (
    (
        "vllm",
        Pattern(r"(?:.*[/\\])?vllm[/\\]\S*\.py\(\d+\)|vllm::|gpu_model_runner|execute_(?:\d+_)?(?:context|new)_"),
    ),
    (
        "sglang",
        Pattern(
            r"(?:.*[/\\])?sglang[/\\]\S*\.py\(\d+\)|sglang::|sgl_kernel::"
            r"|step\[(?:DECODE|EXTEND|MIXED|TARGET_VERIFY|DRAFT_EXTEND)\b"
        ),
    ),
)
# microsoft/onnxruntime: kernels of its CUDA provider are in this namespace.
_ONNX_RUNTIME = Pattern(r"(?:void )?onnxruntime::")

# NVIDIA/TransformerEngine: ops of its extension, and autograd functions of versions that register none.
_TRANSFORMER_ENGINE = Pattern(
    r"tex_ts::|TransformerEngine::|transformer_engine::|_LayerNorm(?:Linear|MLP)(?:Backward)?$"
)


def onnx_runtime(trace: Trace) -> bool:
    """Whether ONNX Runtime computes on the device: its kernels are launched beside torch."""
    return any(_ONNX_RUNTIME.match(name) for name in distinct_texts(trace.kernels["name"]))


def transformer_engine(trace: Trace) -> bool:
    """Whether layers of NVIDIA's Transformer Engine compute: ops of its extension for torch show."""
    return any(_TRANSFORMER_ENGINE.match(name) for name in distinct_texts(trace.ops["name"]))


def serving_engine(trace: Trace) -> str | None:
    """`vllm` or `sglang`; None where neither shows.

    Args:
        trace: The trace.
    """
    names = [name for frame in (trace.annotations, trace.ops, trace.python) for name in distinct_texts(frame["name"])]
    found = [engine for engine, sign in _SIGNS if any(sign.match(name) for name in names)]
    # SGLang's passes may call ops of vLLM's.
    return found[0] if len(found) == 1 else ("sglang" if found else None)
