"""One vocabulary for all dialects: what a category and a name mean.

Categories and names of torch 1.8 to now, CUDA, ROCm, XPU, MTIA and CPU-only (rules.md section 3). Everything here works
on one string and is called once per distinct string, never once per event.
"""

from __future__ import annotations

import re
from enum import IntEnum

from traces.patterns import Pattern
from traces.reader.names.again import AGAIN
from traces.reader.names.autograd import ACCUMULATES, BACKWARD_NODE


class Kind(IntEnum):
    """Which frame an event belongs to; SKIP for what no measurement needs (most flows, process metadata, unknown phases)."""

    SKIP = 0
    OP = 1
    ANNOTATION = 2
    RUNTIME = 3
    KERNEL = 4
    COPY = 5
    SYNC = 6
    PYTHON = 7
    MEMORY = 8
    GPU_ANNOTATION = 9
    OVERHEAD = 10
    THREAD_NAME = 11
    COLLECTIVE = 12
    STEP = 13
    GC = 14
    COUNTER = 15
    GRAPH_EDGE = 16
    UNKNOWN = 17
    # Neither is a frame: half a span (B or E), and an event that does not state its phase.
    HALF = 18
    UNPHASED = 19


_CATEGORIES = {
    "operator": Kind.OP,
    "cpu_op": Kind.OP,
    "op": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "runtime": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "memcpy": Kind.COPY,
    "memset": Kind.COPY,
    "python_function": Kind.PYTHON,
    "cpu_instant_event": Kind.MEMORY,
    "overhead": Kind.OVERHEAD,
    "trace": Kind.SKIP,
    # What `advisor annotate` added: findings, on threads of their own.
    "advisor": Kind.SKIP,
    # Hardware counter ranges replayed kernel by kernel: their times say nothing about the program.
    "cuda_profiler_range": Kind.SKIP,
    "xpu_scope_profiler": Kind.SKIP,
    # Marks on a device's stream that last 1 ns, some of them at time 0: no work, though they name a stream.
    "cuda_event": Kind.SKIP,
    "external_correlation": Kind.SKIP,
    "mtia_insight": Kind.SKIP,
    "mtia_counters": Kind.SKIP,
    # A library's host side of a collective, inside the ranges that torch itself writes.
    "collective_comm": Kind.SKIP,
    # Events of MTIA's command processor, its device-side work.
    "mtia_ccp_events": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    # Nodes of CUDA graphs (torch 2.15) at which a stream does nothing: ends of dependencies all the same.
    "graph_event_node": Kind.KERNEL,
    "graph_host_node": Kind.KERNEL,
    "privateuse1_kernel": Kind.KERNEL,
}
# What every backend appends to its own name: cuda_runtime, xpu_driver, gpu_memcpy, mlu_memcpy, ...
_CATEGORY_ENDINGS = (
    ("_runtime", Kind.RUNTIME),
    ("_driver", Kind.RUNTIME),
    ("_memcpy", Kind.COPY),
    ("_memset", Kind.COPY),
    ("_sync", Kind.SYNC),
    ("_user_annotation", Kind.GPU_ANNOTATION),
)


def event_kind(phase: object, category: object) -> Kind:
    """The frame of an event by its `ph` and `cat`; names refine OP and ANNOTATION afterwards."""
    if phase == "X":
        name = category.lower() if isinstance(category, str) else ""
        known = _CATEGORIES.get(name)
        if known is not None:
            return known
        return next((kind for ending, kind in _CATEGORY_ENDINGS if name.endswith(ending)), Kind.UNKNOWN)
    if phase == "i":
        return Kind.MEMORY
    if phase == "C":
        return Kind.COUNTER
    if phase is None:
        return Kind.UNPHASED
    if phase in ("B", "E"):
        return Kind.HALF
    if phase in ("s", "f") and category == "ac2g":
        return Kind.GRAPH_EDGE
    return Kind.THREAD_NAME if phase == "M" else Kind.SKIP


# No more digits than 64 bits hold: no loop counts further.
_STEP = Pattern(r"ProfilerStep#(\d{1,18})(?!\d)")


def step_number(name: str) -> int | None:
    """N of `ProfilerStep#N`, else None."""
    match = _STEP.match(name)
    return int(match.group(1)) if match else None


_COLLECTIVE_RANGE = Pattern(r"(nccl|gloo|mpi|ucc|xccl|hccl|rccl):|c10d::|record_param_comms")


def is_collective_range(name: str) -> bool:
    """Whether a host range stands for a collective."""
    return _COLLECTIVE_RANGE.match(name) is not None


_LOADER = Pattern(
    r"enumerate\((?:DataLoader|DataPipe|IterDataPipe|MapDataPipe)\)#"
    r"|.*DataLoaderIter\.__next__"
    r"|\[pl\].*(?:fetch_next|dataloader_next|_next_data|\.(?:train|val|test|predict)_next)"
    # As programs name it themselves, with the number of the batch (TorchRec) or without.
    r"|\W*(?:wait[_ ]for[_ ](?:batch|data)|(?:get|fetch|fetching|load|loading|next)[_ ](?:batch|data)|get[_ ]next[_ ]batch"
    r"|data[_ ]?load(?:ing|er)?|data[_ ]fetch(?:ing)?|batch[_ ]load(?:ing)?|next\(\w*(?:loader|iter)\w*\)"
    r"|\w*data_?loader\.next)[\W\d_]*$",
    re.IGNORECASE,
)
_COMPILE = Pattern(
    r".*\(dynamo_timed\)\s*$|_compile\.compile_inner|fx_codegen_and_compile|.*\bcompile_fx\b|.*entire_frame_compile"
    # All of one compilation, what it clears up at its end included: 1 % more than the parts (torch 2.15).
    r"|dynamo$|entire_backward_compile$"
)


def annotation_kind(name: str) -> str:
    """loader, optimizer_step, zero_grad, compile, module, again, or user for anything else."""
    if name.startswith("Optimizer.step#"):
        return "optimizer_step"
    if name.startswith("Optimizer.zero_grad#"):
        return "zero_grad"
    if _LOADER.match(name):
        return "loader"
    if name.startswith("nn.Module: "):
        return "module"
    if name.startswith(AGAIN):
        return "again"
    return "compile" if _COMPILE.match(name) else "user"


# torch 1.8-1.12 wrote these ranges with the category of operators; the compiler's have it still.
_RANGES_AMONG_OPS = Pattern(
    r"dynamo$|entire_(?:frame|backward)_compile$"
    r"|ProfilerStep#|enumerate\((?:DataLoader|DataPipe)\)#|Optimizer\.(?:step|zero_grad)#|.*\(dynamo_timed\)\s*$|\[pl\]|##.*##$"
    # As `advisor collect --modules` marks calls, and `advisor collect` those whose result is known.
    rf"|nn\.Module: |{AGAIN}in "
)


def is_range_among_ops(name: str) -> bool:
    """Whether an event in the operators' category is really a range around operators."""
    return _RANGES_AMONG_OPS.match(name) is not None


def is_garbage_collection(name: str) -> bool:
    """Whether a call is a pass of Python's garbage collector: a Python call to torch, an op as `advisor collect` marks it."""
    return name == "Python GC"


# Commands by which a queue of a device stands still until something else has happened: MTIA's command processor (event_wait),
# Ascend's streams (EVENT_WAIT, Notify_Wait), nodes of CUDA graphs that record an event or call the host (EventRecord, HostNode).
# What they last is waiting.
_DEVICE_WAIT = Pattern(
    r"(?:event|notify|signal|semaphore|stream)[ _]?wait(?:[ _]value)?|wait[ _](?:event|value|signal)"
    r"|EventRecord|HostNode(?:: .*)?",
    re.IGNORECASE,
)


def is_device_wait(name: str) -> bool:
    """Whether an event of a device is no work: its queue waits."""
    return _DEVICE_WAIT.fullmatch(name) is not None


_BACKWARD_NODE = Pattern(rf"{BACKWARD_NODE}|{ACCUMULATES}|\w+Backward\d*$")


def is_backward_node(name: str) -> bool:
    """Whether an op is a node of the backward pass, as torch 1.8 or a later version names it."""
    return _BACKWARD_NODE.match(name) is not None


def accumulates_gradient(name: str) -> bool:
    """Whether an op is the node of the backward pass that adds to one parameter's gradient: one for each that gets some."""
    return name == ACCUMULATES


def around_accumulation(name: str) -> bool:
    """Whether an op is that node, or the engine's span around it."""
    return name.endswith("AccumulateGrad")


# After the letters of the vendor (cuda, cu, hip, musa, cnrt, syn, aiu, ...) calls are named alike: of an accelerator that nobody
# here has met a wait is a wait too. The two layers of Intel (ur, ze) have words of their own.
_GRAPH_LAUNCH = Pattern(r"[a-z]+GraphLaunch|aclmdl\w*Execute")
_LAUNCH = Pattern(
    r"[a-z]+(?:Ext|Module|ExtModule|HccModule)?Launch(?!HostFunc)\w*|ze\w*Launch\w*|(?:ur|pi)EnqueueKernelLaunch"
    r"|[lL]aunch(?:Kernel|Executable)?|cnInvokeKernel|runFunction"
)
_SYNC = Pattern(r"[A-Za-z]*[sS]ynchronize|(?:ur|pi)(?:QueueFinish|Events?Wait)|cnrt(?:QueueSync|SyncDevice)")
_MEMCPY = Pattern(
    r"[a-z]+Memcpy\w*|urEnqueueUSMMemcpy|urEnqueueMemBuffer(?:Read|Write|Copy)|zeCommandListAppendMemoryCopy"
)
_MEMSET = Pattern(r"[a-z]+Memset\w*|urEnqueueUSMFill|zeCommandListAppendMemoryFill")
_ALLOCATOR = Pattern(
    r"[a-z]+(?:(?:Device|Host)?(?:Malloc|Free)\w*|HostAlloc|ExtMallocWithFlags|HostRegister|HostUnregister)$"
    r"|(?:cu|hip|mu)Mem(?:Create|Map|Unmap|Release|AddressReserve|AddressFree|Alloc\w*|Free\w*|SetAccess)$"
    r"|(?:ur|piext)USM(?:Device|Host|Shared)Alloc|(?:ur|piext)USMFree|zeMem(?:Alloc(?:Device|Host|Shared)|Free)"
)


def runtime_kind(name: str) -> str:
    """launch, graph_launch, memcpy, memset, sync, allocator or other, for a call of the device's runtime or driver."""
    # CANN's calls bear the layer in front of their name: `Node@launch`.
    name = name.rpartition("@")[2]
    for kind, pattern in (
        ("graph_launch", _GRAPH_LAUNCH),
        ("launch", _LAUNCH),
        ("sync", _SYNC),
        ("allocator", _ALLOCATOR),
        ("memcpy", _MEMCPY),
        ("memset", _MEMSET),
    ):
        if pattern.match(name):
            return kind
    return "other"


_COUNTERS_OF = Pattern(r"GPU (\d{1,9}) Counters")


def counted_device(process: str) -> int | None:
    """The device whose counters a process row shows, `GPU 0 Counters`; None for any other row."""
    match = _COUNTERS_OF.fullmatch(process)
    return int(match.group(1)) if match else None


def copy_direction(name: str, category: str) -> str:
    """HtoD, DtoH, DtoD, PtoP, HtoH, memset or unknown."""
    lowered = name.lower()
    if "memset" in lowered or "memset" in category.lower() or "fill" in lowered:
        return "memset"
    for pattern, direction in (
        # Before what else the name says: both its ends are devices (`Memcpy PtoP (Device -> Device)`).
        (r"ptop|peer|p2p", "PtoP"),
        (r"htod|host -> device|pageable -> device|pinned -> device|m2d|h2d", "HtoD"),
        (r"dtoh|device -> (?:host|pageable|pinned)|d2m|d2h", "DtoH"),
        (r"dtod|device -> device|d2d", "DtoD"),
        (r"htoh|h2h|m2m|m2h|h2m", "HtoH"),
    ):
        if re.search(pattern, lowered):
            return direction
    return "unknown"


# XPU's letters: M is memory that the driver did not allocate.
_XPU_PAGEABLE = Pattern(r"memcpy (?:m2d|d2m)\b")


def copy_host_memory(name: str) -> str:
    """pageable, pinned or unknown: the memory on the host's side of a copy."""
    lowered = name.lower()
    if _XPU_PAGEABLE.match(lowered):
        return "pageable"
    return "pageable" if "pageable" in lowered else "pinned" if "pinned" in lowered else "unknown"


_SWALLOWED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PATH = Pattern(r"(?:[A-Za-z]:|.*\\|[\w.-]*[\b\f\n\r\t])[^<>]*\.py\b", re.DOTALL)


def restored_path(name: str) -> str:
    r"""A Windows path some of whose backslashes were read as escapes (`torch\nn` as a line break), restored.

    Such a text is valid JSON, so that nothing but the control characters inside a path tells of it.
    """
    if not any(character in name for character in _SWALLOWED) or not _PATH.match(name):
        return name
    return "".join(_SWALLOWED.get(character, character) for character in name)
