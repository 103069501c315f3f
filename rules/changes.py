"""Changes that rules of several families advise, in one wording: findings with the same change get one card."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import share
from rules.device_words import graphs
from rules.framework_words import accumulated, compiled_model, replayed
from rules.own_loader import with_own_batch_size

# Twice the batch needs at most twice the memory: activations are at most what is allocated (as ME005).
_HALF = 0.5
_TWICE = 2


def memory_limits_the_batch(facts: Facts) -> float | None:
    """Share of the card that tensors take at the peak, where twice the batch might not fit; None where it fits or is not known."""
    found = facts.memory.device
    if found.peak_allocated_bytes is None or found.capacity_bytes is None:
        return None
    ratio = found.peak_allocated_bytes / found.capacity_bytes
    return ratio if ratio > _HALF else None


def larger_batch(facts: Facts, times: int = _TWICE) -> Advice:
    """Twice the batch, or as many times; where memory is known not to hold it, what makes room for it."""
    full = memory_limits_the_batch(facts)
    doubled = _times_the_batch(facts, times)
    if facts.model.may_train:
        room = "weights of 8 or 4 bits, and in training checkpointed blocks," if full is not None else ""
        return Advice(
            "diff",
            doubled,
            "More samples in one pass, as far as memory allows: more work for each launch. Where the program serves, the time to "
            "an answer grows; where it trains, scale the learning rate and watch the validation score."
            + (f" Tensors take {share(full)} of the card: {room} make room." if full is not None else ""),
        )
    if facts.model.infers:
        return Advice(
            "diff",
            doubled,
            "More requests or samples in one pass, as far as memory and the time to an answer allow: more work for each launch."
            + (
                f" Tensors take {share(full)} of the card: weights of 8 or 4 bits make room."
                if full is not None
                else ""
            ),
        )
    if full is not None:
        return Advice(
            "python",
            "from torch.utils.checkpoint import checkpoint\nx = checkpoint(self.block, x, use_reentrant=False)",
            f"Tensors take {share(full)} of the card: memory limits the batch. Checkpoint the largest blocks, then raise it; "
            "accumulating gradients instead does not make the kernels larger.",
        )
    return Advice(
        "diff",
        doubled,
        f"{'Double the batch' if times == _TWICE else 'Larger batches'} while memory allows: more work for each launch. Scale the "
        "learning rate, and watch the validation score.",
    )


def _times_the_batch(facts: Facts, times: int) -> str:
    batch = facts.recording.collected.batch_size
    if not batch:
        return f"+batch_size = {times} * batch_size"
    return with_own_batch_size(facts, batch, times * batch) or f"-batch_size = {batch}\n+batch_size = {times * batch}"


def accumulate_gradients(facts: Facts, *, data_parallel: bool = False) -> Advice:
    """Several backward passes for one optimizer step: the same gradients from batches of half the size."""
    batch = facts.recording.collected.batch_size
    head = f"-batch_size = {batch}\n+batch_size = {batch // 2}\n" if batch and batch > 1 else ""
    note = (
        "Half the batch, two backward passes per optimizer step: the same gradients in half the memory for activations. "
        "Batch norm sees the smaller batches."
    )
    said = accumulated(facts)
    if said is not None:
        return Advice("diff", f"{head}{said}", note)
    body = "-loss.backward()\n-optimizer.step()\n-optimizer.zero_grad()\n"
    if data_parallel:
        body += "+with model.no_sync() if (index + 1) % 2 else nullcontext():\n+    (loss / 2).backward()\n"
    else:
        body += "+(loss / 2).backward()\n"
    return Advice(
        "diff",
        f"{head}{body}+if (index + 1) % 2 == 0:\n+    optimizer.step()\n+    optimizer.zero_grad()",
        note,
    )


def older_than(facts: Facts, version: tuple[int, int]) -> bool:
    """Whether the trace was surely recorded by a torch before the given version."""
    return facts.recording.versions.has("torch", version) is False


def as_new_as(facts: Facts, version: tuple[int, int]) -> bool:
    """Whether the trace was surely recorded by a torch of at least the given version."""
    return facts.recording.versions.has("torch", version) is True


def compiled(facts: Facts, note: str) -> Advice:
    """Let a compiler fuse the model; where this torch has none, script what is called most."""
    if older_than(facts, (2, 0)):
        return Advice(
            "python",
            "@torch.jit.script   # torch 2: model = torch.compile(model)\ndef activate(x, bias):\n    return torch.relu(x + bias)",
            "This torch is older than 2.0 and has no `torch.compile`: script functions made of pointwise ops, or upgrade (PG011).",
        )
    return Advice("diff", compiled_model(facts) or "+model = torch.compile(model)", f"{note}{_not_compiling(facts)}")


# With one of them torch.compile runs the model as it is (torch/_dynamo: `eval_frame.py`; `config.py`, `disable`).
_NOT_COMPILING = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")


def _not_compiling(facts: Facts) -> str:
    """That a variable keeps torch from compiling, where one is set; empty else."""
    known = facts.recording.collected.environment or {}
    names = [f"`{name}`" for name in _NOT_COMPILING if known.get(name) == "1"]
    return (
        f" {' and '.join(names)} {'is' if len(names) == 1 else 'are'} set: as long as that is so, nothing is compiled."
        if names
        else ""
    )


# torch looks whether these are set, whatever they are set to (c10/cuda/CUDACachingAllocator.cpp).
CACHING_VARIABLES = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")


def unset(names: list[str]) -> Advice:
    """Variables that have to go."""
    return Advice(
        "shell", "\n".join(f"unset {name}" for name in names), "Also look in the job script and the container."
    )


def set_by_program(facts: Facts, names: Iterable[str]) -> tuple[Advice, ...]:
    """The lines by which the program itself sets variables, which nobody can change from outside; none where it sets none."""
    values = facts.recording.collected.environment or {}
    own = [name for name in names if name in facts.recording.collected.environment_changed and name in values]
    if not own:
        return ()
    lines = "\n".join(f'-os.environ["{name}"] = "{values[name]}"' for name in own)
    note = "The program sets it itself, or a library that it imports: from outside it has no effect."
    return (Advice("diff", lines, note),)


def not_cached(facts: Facts) -> tuple[Advice, ...]:
    """Where a variable keeps the allocator from keeping memory, that first: nothing else helps as long as it is set."""
    found = [name for name in CACHING_VARIABLES if name in (facts.recording.collected.environment or {})]
    return (unset(found),) if found else ()


# What torch.compile and its helpers know as graphs are those of NVIDIA and AMD.
CUDA_GRAPHS = ("cuda", "rocm")
_OTHER_GRAPHS = Advice(
    "text",
    "Replay the pass from a graph, where this device's backend has them: one launch for many kernels.",
    "Ascend: `torch.npu.NPUGraph`; Gaudi: `wrap_in_hpu_graph`. Needs static shapes and no reads by the host inside.",
)


def replay_as_graph(facts: Facts) -> Advice:
    """One launch for all kernels of a step; by the engine that serves the model, or by hand where this torch cannot compile."""
    said = replayed(facts)
    if said is not None:
        return Advice(
            "diff",
            said,
            f"The engine's own {graphs(facts)}: one launch for the kernels of a pass that decodes. Prefills, and batches larger "
            "than those captured, are launched one by one all the same.",
        )
    if facts.device.kind not in CUDA_GRAPHS:
        return _OTHER_GRAPHS
    if facts.recording.transformer_engine:
        return _OF_TRANSFORMER_ENGINE
    if older_than(facts, (2, 0)):
        return capture_by_hand(facts)
    compiled = facts.kernels.fusion
    removed = "-model = torch.compile(model)\n" if compiled.regions else ""
    # A cache of keys and values that grows with every token changes shapes, and keeps graphs from being captured.
    generates = facts.model.infers and facts.kernels.named.is_family("attention").any()
    cache = ' Generating text needs a cache of fixed size: `cache_implementation="static"` in transformers.'
    return Advice(
        "diff",
        f'{removed}+model = torch.compile(model, mode="reduce-overhead")   # {graphs(facts)}: one launch for many kernels',
        "Needs static shapes and no host reads inside the step; the first steps compile. It falls back where it cannot capture."
        + (_NO_REGIONS if compiled.compiled and not compiled.regions else "")
        + (cache if generates and facts.recording.frameworks.may_use("transformers") else ""),
    )


_NO_REGIONS = (
    " Triton's kernels run here and no call of `torch.compile` shows: a model that was exported ahead of time (AOTInductor) is not "
    "compiled again, capture its call with `torch.cuda.graph`."
)
_OF_TRANSFORMER_ENGINE = Advice(
    "python",
    "import transformer_engine.pytorch as te\nmodel = te.make_graphed_callables(model, (example_batch,), fp8_enabled=True)",
    "CUDA graphs of Transformer Engine's own: its layers are kept out of `torch.compile`, and its scales for FP8 have to be "
    "updated in the graph. Newer versions call the argument `enabled`. Needs tensors of fixed size.",
)


def capture_by_hand(facts: Facts) -> Advice:
    """A CUDA graph of the model without a compiler; of a model whose gradients are reduced before that is wrapped."""
    if facts.device.kind not in CUDA_GRAPHS:
        return _OTHER_GRAPHS
    if facts.recording.transformer_engine:
        return _OF_TRANSFORMER_ENGINE
    note = "Needs tensors of fixed size at fixed places: copy each batch into the same input tensor."
    if not facts.communication.collectives.data_parallel:
        return Advice("python", "model = torch.cuda.make_graphed_callables(model, (example_batch,))", note)
    return Advice(
        "python",
        "model = torch.cuda.make_graphed_callables(model, (example_batch,))   # before it is wrapped\n"
        "model = DistributedDataParallel(model)",
        f"{note} Gradients are then reduced outside the graphs, which any NCCL allows.",
    )


# torch/optim/optimizer.py, `_accelerator_graph_capture_health_check` (torch 2.15); a number is
# written into the graph as it is at the capture.
_CAPTURED_UPDATES = (
    "In it optimizers of the kind of Adam need `capturable=True`, and a learning rate that changes has to be a tensor."
)


def capture_with_collectives(facts: Facts) -> Advice:
    """A CUDA graph of a whole step with NCCL's collectives, and what PyTorch's notes on CUDA and NCCL's guide ask for."""
    # The name before torch 2.2, which later ones still read.
    variable = "NCCL_ASYNC_ERROR_HANDLING" if older_than(facts, (2, 2)) else "TORCH_NCCL_ASYNC_ERROR_HANDLING"
    wrapped = facts.communication.collectives.data_parallel
    model = "    model = DistributedDataParallel(model)\n" if wrapped else ""
    step = "model(static_batch)" if facts.model.infers else "train_step(static_batch)"
    return Advice(
        "python",
        f'os.environ["{variable}"] = "0"   # before init_process_group\n'
        f"with torch.cuda.stream(torch.cuda.Stream()):\n{model}    for _ in range(11):\n        {step}\n"
        "torch.cuda.synchronize()\ngraph = torch.cuda.CUDAGraph()\n"
        f"with torch.cuda.graph(graph):\n    {step}\ngraph.replay()   # for each batch, copied into static_batch",
        "The whole step, its collectives too. On all ranks alike, with one GPU a process"
        + (", DDP made on a side stream, and at least 11 steps with it before." if wrapped else ".")
        + ("" if facts.model.infers else f" {_CAPTURED_UPDATES}"),
    )


def channels_last(facts: Facts) -> Advice:
    """One memory format for all convolutions; on ROCm with the switch without which its convolutions ignore it."""
    # torch/include/ATen/native/ConvUtils.h, `miopen_conv_suggest_memory_format`: off by default, in torch 2.15 still (or again).
    switch = (
        " On ROCm start the program with `PYTORCH_MIOPEN_SUGGEST_NHWC=1`: without it torch hands channels-first tensors to "
        "MIOpen, and the change only adds transposes."
        if facts.device.kind == "rocm"
        else ""
    )
    return Advice(
        "diff",
        "+model = model.to(memory_format=torch.channels_last)\n for images, labels in loader:\n"
        "+    images = images.to(memory_format=torch.channels_last)\n     output = model(images)",
        "Changes the order in memory only; shapes and results stay the same. `.permute(...).contiguous()` before convolutions "
        f"becomes needless.{switch}",
    )
