"""What to do about an op that works on the host while the device idles: by what it works on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.host.dispatch_owner import OwningOp
from analyzer.facts.kernels.precision import CONV_OP
from analyzer.facts.model.compiled import CHECKS
from analyzer.finding import Advice
from analyzer.units import count, duration, listed
from rules.guards import FEWER_GUARDS
from traces.patterns import Pattern

# Ops of a library that has a kernel for each size built or looked up: its own work on the host is that.
_OF_LIBRARY = Pattern(r"aten::(?:cudnn|miopen)_")
# A library chooses, loads or builds the kernel of a product as well; one that launches nothing computes on the host itself.
_PRODUCT = Pattern(
    r"aten::_?(?:mm|addmm|bmm|baddbmm|addbmm|mv|addmv|linear|matmul|scaled_(?:grouped_)?mm|grouped_mm|int_mm|addmm_activation)$"
)
# Ops that compute nothing: they take memory from a cache, or look at what there is from another side.
_KEEPS_BOOKS = Pattern(
    r"aten::(?:empty(?:_strided|_like|_permuted)?|new_empty(?:_strided)?|resize_|set_|view(?:_as)?|_unsafe_view|_reshape_alias"
    r"|transpose|t|permute|slice|select|narrow|expand(?:_as)?|unsqueeze|squeeze|detach_?|alias|as_strided|unbind"
    r"|split(?:_with_sizes)?|chunk|lift_fresh)$"
)
# What makes a tensor of another type, or of another layout, of one on the host.
_COPIES = Pattern(r"aten::(?:to|_to_copy|copy_|contiguous|clone)$")
_CAST_THERE = (
    "-frame = torch.from_numpy(frame).float().to(device)\n"
    "+frame = torch.from_numpy(frame).to(device).float()   # bytes travel"
)
_CASTS = (
    "A tensor on the host is copied there, as a cast or another layout does: send it as it is, and do that on the device. Where it "
    "is neither, the copy can go."
)

_FAST = Advice(
    "shell",
    "export MIOPEN_FIND_MODE=FAST      # or a search once, kept: MIOPEN_USER_DB_PATH on a disk that stays",
    "MIOpen then takes what its database knows of a size, without a search; kernels that it does not hold are still built once. "
    "What it takes may be slower than what a search finds: measure both.",
)
_WATCHED = Advice(
    "shell",
    "perf sched timehist -p PID      # or Nsight Systems with --trace=osrt: what the thread waits for\n"
    "numactl --cpunodebind=0 --membind=0 python program.py   # cores of its own, near its device",
    "Whether other threads and processes had its core, pages had to be brought, or another thread held a lock that it needed, in "
    "the driver too (as one that pins or frees memory does): the trace does not tell.",
)
_SIZES = Advice(
    "python",
    "step = 64                                    # a handful of sizes instead of any\n"
    "short = -length % step\n"
    "batch = torch.nn.functional.pad(batch, (0, short))",
    "Each size is prepared once, and comes back.",
)


def own_work(facts: Facts, ops: Sequence[OwningOp]) -> tuple[Advice, ...]:
    """What to do about ops that work on the host while the device idles: of each kind what fits it.

    Args:
        facts: The measurements.
        ops: The ops, the largest first.
    """
    of_kind: dict[str, list[OwningOp]] = {}
    for op in ops:
        of_kind.setdefault(_kind(op), []).append(op)
    return tuple(advice for kind, those in of_kind.items() for advice in _advised(facts, kind, those))


def _kind(op: OwningOp) -> str:
    """What an op works on."""
    if op.building:
        return "built once"
    if op.launched_by is not None:
        return "launches"
    if op.hooked:
        return "hooks"
    if CHECKS.search(op.name):
        return "guards"
    if _OF_LIBRARY.match(op.name) or CONV_OP.search(op.name):
        return "convolutions"
    if op.launches and _PRODUCT.match(op.name):
        return "products"
    if _KEEPS_BOOKS.match(op.name):
        return "books"
    return "copies" if _COPIES.match(op.name) else "other"


def _advised(facts: Facts, kind: str, ops: Sequence[OwningOp]) -> tuple[Advice, ...]:
    """What to do about ops of one kind."""
    if kind == "built once":
        return tuple(_warmed_up(op) for op in ops)
    if kind == "hooks":
        return (_unhooked(facts, ops[0]),)
    if kind == "guards":
        return FEWER_GUARDS
    if kind == "convolutions":
        return _prepared(facts, _kept(ops))
    if kind == "products":
        return _chosen(facts, _kept(ops))
    if kind == "launches":
        return tuple(_launched(op) for op in ops)
    if kind == "books":
        return (_stood_still(ops),)
    there = (Advice("diff", _CAST_THERE, _CASTS),) if kind == "copies" else ()
    lines = " Record with `with_stack=True` to see the line that calls it." if not facts.recording.has_stacks else ""
    return (
        *there,
        Advice(
            "text",
            f"Take the work of {listed([f'`{op.name}`' for op in ops])} off the path to the next kernel: on tensors that lie on "
            "the GPU, less often, or "
            f"{'for the next input while the GPU works on this one' if facts.model.infers else 'in the workers of the loader'}.",
            f"{_kept(ops)}{lines}",
        ),
    )


def _unhooked(facts: Facts, op: OwningOp) -> Advice:
    """What runs for each gradient beside adding it up."""
    several = facts.communication.collectives.kernels or (facts.recording.world_size or 1) > 1
    sharded = (
        " DeepSpeed's ZeRO has one for each parameter, a slow one in version 0.18.5: another version, or `DistributedDataParallel` "
        "where the model fits on each device."
        if several
        else ""
    )
    return Advice(
        "text",
        "Run less for each gradient: hooks of the program (`register_hook` and its kin) or of a library that watches "
        "gradients once in many steps, or behind the backward pass for all at once.",
        f"Adding a gradient up takes some 20 us of the host; each call keeps it for {duration(op.each_ns)}: hooks run "
        f"there.{sharded} Fewer, larger parameters have fewer of them; a larger batch has as many.",
    )


def _kept(ops: Sequence[OwningOp]) -> str:
    """For how long each call keeps the host."""
    if len(ops) == 1:
        return f"Each call keeps the host for {duration(ops[0].each_ns)}: a larger batch or a graph does not end it."
    each = listed([f"of `{op.name}` for {duration(op.each_ns)}" for op in ops])
    return f"Each call keeps the host, one {each}: a larger batch or a graph does not end it."


def _warmed_up(op: OwningOp) -> Advice:
    takes = "takes" if op.calls == 1 else "take"
    return Advice(
        "text",
        "Run the program a few times, with all shapes that will come, before it serves, is timed or recorded "
        "(`schedule(warmup=...)`).",
        f"The first {count(op.calls, 'call')} of `{op.name}` {takes} {duration(op.each_ns)} each, the "
        f"{op.others:,} others next to nothing: something is built, compiled or chosen there, and kept.",
    )


def _chosen(facts: Facts, each: str) -> tuple[Advice, ...]:
    """Products launch and go on as well: one that works on the host looks for its kernel."""
    rocm = facts.device.kind == "rocm"
    vendor = "hipBLASLt or rocBLAS" if rocm else "cuBLAS"
    said = Advice(
        "text",
        f"A product launches its kernel and goes on: that {vendor} works on the host for so long may be how it chooses, loads or "
        "builds one for these sizes and formats. Where only the first steps have it, warm up before the recording; where each "
        "call has it, let it take another kernel.",
        each,
    )
    library = '"hipblas")      # rocBLAS, or "hipblaslt"' if rocm else '"cublaslt")     # or "cublas"'
    return (
        said,
        Advice(
            "python",
            f"torch.backends.cuda.preferred_blas_library({library}",
            "Or a size padded to one of a handful, another format, another version of the library: what its tables hold differs by "
            "card and version. Measure both: the kernels may be slower than those that are looked for.",
        ),
    )


def _launched(op: OwningOp) -> Advice:
    """A launch that takes so long by itself: no op, and nothing of the program, works there."""
    graph = "Graph" in str(op.launched_by)
    why = (
        "Where the profiler records each kernel of a graph, launching one takes longer than without: time both without a "
        "profiler first. Where it stays: fewer kernels in the graph, another version of the driver and of torch, and the next "
        "launch prepared while this one runs."
        if graph
        else "The first launch of a kernel loads it (`CUDA_MODULE_LOADING=EAGER` loads all when the program starts); a lock of "
        "the driver that another thread holds, as one that pins or frees memory, looks the same."
    )
    inside = "" if op.launched_by == op.name else f", most of it inside `{op.launched_by}`"
    return Advice(
        "text",
        f"Each call of `{op.name}` keeps the host for {duration(op.each_ns)}{inside}: the driver's work, none of the program's.",
        why,
    )


def _stood_still(ops: Sequence[OwningOp]) -> Advice:
    """Ops that compute nothing: the thread that called them stood still."""
    names = listed([f"`{op.name}`" for op in ops])
    return replace(
        _WATCHED,
        note=f"{names} {'computes' if len(ops) == 1 else 'compute'} nothing, so for {duration(ops[0].each_ns)} a call the thread "
        f"stood still there. {_WATCHED.note}",
    )


def _prepared(facts: Facts, each: str) -> tuple[Advice, ...]:
    """Convolutions launch and go on: one that works on the host chooses or builds its kernels."""
    rocm = facts.device.kind == "rocm"
    library = "MIOpen" if rocm else "cuDNN"
    said = Advice(
        "text",
        f"A convolution launches its kernel and goes on: that {library} works on the host for so long is how it chooses or builds "
        "kernels, once for each size that it has not seen. Steps whose sizes all came before do not have it: warm up with them "
        "before the recording, and keep sizes few.",
        each,
    )
    return (said, *((_FAST,) if rocm else ()), _SIZES)
