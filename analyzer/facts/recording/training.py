"""Whether a trace shows training, serving or an evaluation: forward passes alone may be a server's, or half of a training step."""

from __future__ import annotations

import re

from analyzer.facts.recording.engines import serving_engine
from analyzer.facts.recording.said_passes import said_passes
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts, is_any, matching
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# Wrappers that exist to reduce gradients over ranks (torch/nn/parallel/distributed.py), what they do around a backward pass alone
# (torch/distributed/fsdp: FSDP::post_backward_reduce, FullyShardedDataParallel._post_backward_hook), and what frameworks and
# programs call a step of training (Lightning's run_training_batch, `## backward ##`).
_TRAINING_RANGES = Pattern(
    r"DistributedDataParallel\.forward$|FSDP::(?:root_)?(?:pre|post)_backward|FullyShardedDataParallel\._(?:pre|post)_backward"
    r"|(?:.*[^A-Za-z])?(?:run_training_batch|train(?:ing)?_step|train_batch)\b"
    r"|(?:.*[^A-Za-z_])?(?:loss[._])?backward(?:[_ ]?pass)?(?![A-Za-z_])"
)
# Updates that one kernel makes of all parameters: torch's, and those of apex, which are ops of their own.
_UPDATES = Pattern(r"aten::_fused_(?:adamw?|sgd|adagrad)_")
# Frames that only gradients, or what uses them, leave: Tensor.backward, autograd, torch's optimizers, DeepSpeed's engine.
_TRAINING_FRAMES = Pattern(
    r"(?:.*[/\\])?(?:torch[/\\](?:_tensor|autograd[/\\]__init__)\.py\(\d+\): backward"
    r"|torch[/\\]optim[/\\]\w+\.py\(\d+\): step|deepspeed[/\\]runtime[/\\]\w+\.py\(\d+\): (?:backward|step|train_batch))$"
)
# Kernels that only training launches: all that a step replayed from a graph shows of it. Not `dgrad`, by which convolutions are
# transposed in forward passes as well. PyTorch's own (`softmax_warp_backward`, `FusedAdamMathFunctor`), cuDNN's (`wgrad`, `bn_bw`),
# FlashAttention's (`flash_bwd_dq_dk_dv_loop_kernel`), AOTriton's (`bwd_kernel_dk_dv`), MIOpen's (`BatchNormBwd`, `igemm_wrw`),
# composable kernel's (`bwd_weight`), norms of Transformer Engine and Triton (`rmsnorm_bwd`), apex's and bitsandbytes' optimizers.
_OF_TRAINING = Pattern(
    r".*(?i:backward|wgrad|(?:flash|fmha|attention)\w*?_?bwd|fused(?:adam|sgd|adagrad)mathfunctor|bwd_kernel_d[kq]|norm\w*?_?bwd|\bbn_bw"
    r"|bwd_?weight|igemm_wrw|gradgammabeta|(?:adam|sgd|lamb|adagrad)functor|koptimizer(?:static)?\d+bit)"
)
# What only a model that is run has: a cache of keys and values that grows token by token (vLLM, SGLang, TensorRT-LLM, FlashInfer,
# FlashAttention name its ops and kernels so), integer weights and packed ones, without gradients, TensorRT, ONNX Runtime.
_OF_SERVING = Pattern(
    r".*(?i:reshape_and_cache|concat_and_cache|paged_?(?:attention|kv)|kv_?cache|(?<![a-z])batch_?decode|masked_multihead_attention)"
    r"|quantized::|(?:mkldnn_)?prepacked::|aten::_weight_int\dpack_mm|tensorrt::execute_engine"
    r"|(?:void )?(?:tensorrt_llm|trtllm|onnxruntime)::"
)
# Frames of a loop that generates text; ranges as servers open them.
_GENERATES = Pattern(r"(?:.*[/\\])?(?:transformers[/\\]generation|tensorrt_llm|text_generation_server|lmdeploy)[/\\]")

# What programs call passes over a data set, as ranges and as functions of their own: `validate`, `evaluate_model`, `val_epoch`.
_EVALUATION = Pattern(
    r"(?:.*\.py\(\d+\): |.*\.)?_?(?:run_|do_)?(?:validate|validation|evaluate|evaluation|eval|val|test)"
    r"(?:_(?:one|epoch|step|loop|batch|model|set|dataset|iter(?:ation)?|round))*(?:[ _#:]*\d+)?$",
    re.IGNORECASE,
)
_REQUEST = Pattern(r"request", re.IGNORECASE)
# Functions that look at arguments, or at a request, are called so as well: they run no model.
_MOST_OPS = 0.5


def trains(trace: Trace) -> bool:
    """Whether gradients are made or used: by an optimizer, a backward pass, or a wrapper of the model that reduces them.

    An optimizer of the program's own leaves no range, and a recording may hold the forward pass alone. A step that is replayed from
    a graph shows its kernels only.
    """
    ranges = trace.annotations
    return (
        bool(is_any(ranges["kind"], "optimizer_step", "zero_grad").any())
        or any(_TRAINING_RANGES.match(name) for name in distinct_texts(ranges["name"]))
        or any(is_backward_node(name) or _of_training(name) for name in distinct_texts(trace.ops["name"]))
        or any(_OF_TRAINING.match(name) for name in distinct_texts(trace.kernels["name"]))
        or any(_TRAINING_FRAMES.match(name) for name in distinct_texts(trace.python["name"]))
    )


def _of_training(op: str) -> bool:
    return _UPDATES.match(op) is not None or _TRAINING_RANGES.match(op) is not None


def serves(trace: Trace) -> bool:
    """Whether the trace shows that a model is run for its results: by an engine, a loop that generates, or what has no gradient."""
    return (
        serving_engine(trace) is not None
        or bool(said_passes([*distinct_texts(trace.annotations["name"]), *distinct_texts(trace.python["name"])]))
        or any(_GENERATES.match(name) for name in distinct_texts(trace.python["name"]))
        or any(
            _OF_SERVING.match(name) for frame in (trace.ops, trace.kernels) for name in distinct_texts(frame["name"])
        )
    )


def evaluates(trace: Trace) -> bool:
    """Whether a model that trains nothing is run over a data set: batches come from a loader, or a range or function says so.

    Where ranges are called requests a loader may prepare those.
    """
    ranges = trace.annotations
    if serves(trace) or any(_REQUEST.search(name) for name in distinct_texts(ranges["name"])):
        return False
    return bool(is_any(ranges["kind"], "loader").any()) or _called_evaluation(trace)


def _called_evaluation(trace: Trace) -> bool:
    """Whether most ops run inside what is called an evaluation."""
    ops = trace.ops["start_ns"].to_numpy()
    named = [
        chosen(frame, matching(frame["name"], lambda name: _EVALUATION.match(name) is not None))
        for frame in (trace.annotations, trace.python)
    ]
    calls = IntervalSet.union(IntervalSet.of_rows(frame) for frame in named if len(frame))
    return bool(len(ops)) and bool(calls) and float(calls.contains(ops).mean()) > _MOST_OPS
