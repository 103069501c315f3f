"""Programs of many kinds of which it is known what may be said: generation, diffusion, GAN, detection, streams, other makers.

`python tests/confusion.py` prints a row for each thing that is said. Each mechanism has worlds that have its property, and worlds
that lack it; the answers were written down before the tool was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from analyzer.analysis import BoundBy
from analyzer.facts import Facts
from building.builders import AUTOGRAD, TraceBuilder
from building.other_devices import graphed, mps, private_use, xpu
from known.sayings import Saying, explained, found
from programs.crowded import stopping
from programs.late_hosts import LATE
from programs.passes import of_history, sample_by_sample
from programs.updating import groups, in_update, kept_alike, scaled, sent_home

_STEP = 10_000.0
_NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _bound_by(builder: TraceBuilder) -> BoundBy:
    return explained(builder).summary.verdict.bound_by


def _fires(code: str, builder: TraceBuilder) -> bool:
    return any(one.rule == code for one in explained(builder).findings)


def _advises(code: str, builder: TraceBuilder, words: str) -> bool:
    fixes = [fix for one in explained(builder).findings if one.rule == code for fix in one.fix]
    return any(words in f"{fix.code} {fix.note}" for fix in fixes)


# Steps that nothing marks.


def _decoding(*, tokens: int, layers: int) -> TraceBuilder:
    """A pass for each token: equal layers, then the head and the choice of the token."""
    builder, clock, launch = TraceBuilder(), 100.0, 0.0
    builder.op("aten::embedding", 0, 50)
    for _ in range(tokens):
        layer = ("rms_norm", "gemm_qkv", "flash_fwd_kernel", "gemm_o", "gemm_up", "silu_mul", "gemm_down")
        for name, dur in [
            *((name, 28.0) for name in layer * layers),
            ("gemm_lm_head", 100.0),
            ("argmax_kernel", 100.0),
        ]:
            builder.launch(launch, kernel_start=clock, kernel_dur=dur, name=name, call_dur=4, op="aten::mm")
            launch, clock = launch + 6, clock + dur + 2
        launch = max(launch, clock - 200)
    return builder


def _pieces(*, received: bool) -> TraceBuilder:
    """Twelve equal pieces with a gap behind each, without a head: layers of a pass, or passes, whose results the host receives."""
    builder, at = TraceBuilder(), 0.0
    for _ in range(12):
        for name in (
            "rms_norm",
            "gemm_qkv",
            "rotary",
            "flash_fwd_kernel",
            "gemm_o",
            "rms_norm_2",
            "gemm_up",
            "silu_mul",
            "gemm_down",
        ):
            builder.launch(at, kernel_start=at + 10, kernel_dur=100, name=name, call_dur=4, op="aten::mm")
            at += 102
        if received:
            builder.copy("DtoH", at, 4, start=at + 8, dur=2, size=64)
        at += 60
    return builder


def _recorded_capture(*, begun: bool) -> TraceBuilder:
    """A hundred launches without a kernel, between the beginning and the end of a stream's capture, or without the former."""
    builder = TraceBuilder()
    if begun:
        builder.runtime("cudaStreamBeginCapture_v10000", 0, 5)
    for number in range(100):
        builder.op("aten::mm", 10 + 10 * number, 9)
        builder.runtime("cudaLaunchKernel", 12 + 10 * number, 4)
    builder.runtime("cudaStreamEndCapture_v10000", 1_020, 5)
    for number in range(5):
        builder.launch(1_100 + 50 * number, kernel_start=1_112 + 50 * number, kernel_dur=30)
    return builder


def _lost(builder: TraceBuilder) -> bool:
    return any("have no kernel" in one.message for one in Facts(builder.trace()).health.symptoms)


def _denoising(name: str, *, parts: int) -> TraceBuilder:
    """Ten steps of diffusion, each a range of the program's own, or so many: blocks of kernels, then the scheduler's."""
    builder = TraceBuilder()
    for turn in range(10):
        at = turn * 5_000
        for part in range(parts):
            builder.annotation(name.format(turn * parts + part), at + part * 5_000 / parts, 4_990 / parts)
        for index in range(70):
            kernel = ("group_norm", "conv_fprop", "silu", "conv", "attention_fwd")[index % 5]
            builder.launch(at + index * 60, kernel_start=at + index * 60 + 8, kernel_dur=50, name=kernel, call_dur=4)
        builder.launch(at + 4_300, kernel_start=at + 4_308, kernel_dur=600, name="scheduler_step", call_dur=4)
    return builder


def _updates(pattern: str, *, batches: str = "a") -> TraceBuilder:
    """Updates of two optimizers of one class, a letter each; a batch is loaded before the letters named."""
    builder = TraceBuilder()
    for turn, letter in enumerate(pattern):
        at = turn * 2_000
        if letter in batches:
            builder.loader(at, 100)
        for index in range(5):
            builder.launch(at + 200 + index * 100, kernel_start=at + 210 + index * 100, kernel_dur=90)
        builder.optimizer(at + 1_000, 500)
        for index in range(3 if letter == "a" else 7):
            builder.op("aten::_foreach_add_", at + 1_060 + index * 20, 10)
    return builder


def _in_turns(*names: str) -> TraceBuilder:
    """Five rounds of ranges of the program's own, each around half a millisecond of kernels."""
    builder = TraceBuilder()
    for place in range(5 * len(names)):
        at = place * 500
        builder.annotation(names[place % len(names)], at, 500)
        for index in range(4):
            builder.launch(at + index * 120, kernel_start=at + index * 120 + 8, kernel_dur=100, name="gemm", call_dur=4)
    return builder


def _steps_of(builder: TraceBuilder) -> int:
    """How many steps are told apart."""
    return Facts(builder.trace()).steps.count


def _counts(builder: TraceBuilder, steps: int) -> bool:
    return _steps_of(builder) == steps


# What the device waits for.


def _of_intel(*, late: bool) -> TraceBuilder:
    """A hundred kernels a step by the names of Intel's runtime, each after its own launch; or with a queue that is filled."""
    builder = TraceBuilder(None, top={"deviceProperties": [{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}]})
    for number in range(4):
        at = number * _STEP
        builder.step(number, int(at), _STEP)
        for index in range(100):
            start = at + index * 100
            builder.op("aten::add", start, 90)
            call = builder.event("urEnqueueKernelLaunch", "xpu_runtime", start + 60, 20)
            call["args"] = {"correlation": number * 1_000 + index + 1}
            begins = start + 83 if late else start + 600
            builder.kernel("gemm", begins, 15 if late else 99, correlation=number * 1_000 + index + 1)
    return builder


def _on_another_stream(*, copies: bool) -> TraceBuilder:
    """A kernel waits 6 ms for what another stream does: a copy, or kernels."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        if copies:
            builder.copy("HtoD", at + 10, 8, start=at + 30, dur=6_000, size=256 << 20, pinned=True, stream=20)
        else:
            builder.launch(at + 10, kernel_start=at + 30, kernel_dur=6_000, name="gemm", stream=20)
        builder.launch(at + 60, kernel_start=at + 6_040, kernel_dur=3_900, name="gemm")
    return builder


def _graph(*, gap: float) -> TraceBuilder:
    """A graph of AMD's runtime with 80 nodes, that far apart."""
    builder = TraceBuilder("rocm")
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        call = builder.runtime("hipGraphLaunch", at, 6)
        for index in range(80):
            builder.kernel("Cijk_Ailk_Bljk_SB_MT64x64", at + 20 + index * 120, 120 - gap, correlation=call)
    return builder


def _detects(*, each: float) -> TraceBuilder:
    """Boxes are thinned out on the host for so long, then 30 kernels follow their launches; the device's clock is late."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.op("torchvision::nms", at, each)
        for index in range(30):
            launch = at + each + index * 150
            builder.op(f"aten::op{index % 9}", launch, 140)
            builder.launch(launch + 100, kernel_start=launch + 94, kernel_dur=30, name="k", op=None)
    return builder


def _prepares(*, on_host: bool) -> TraceBuilder:
    """Two ops take 3 ms each of a step, then one kernel computes; or sixty kernels follow their launches."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        for index in range(0 if on_host else 60):
            builder.op(f"aten::op{index % 9}", at + index * 100, 98)
            builder.launch(at + index * 100 + 80, kernel_start=at + index * 100 + 86, kernel_dur=12, name="k", op=None)
        for index, name in enumerate(("aten::sort", "aten::unique_dim") if on_host else ()):
            builder.op(name, at + index * 3_000, 3_000)
        builder.launch(at + 6_000, kernel_start=at + 6_010, kernel_dur=3_900, name="gemm")
    return builder


# Kernels side by side, communication, copies.


def _grids(streams: int, blocks: float) -> TraceBuilder:
    """Kernels with so many blocks a multiprocessor on each stream at once, then a large one."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for index in range(streams):
            few = {"blocks per SM": blocks, "grid": [int(blocks * 132), 1, 1], "block": [256, 1, 1]}
            launch = at + index
            builder.launch(
                launch, kernel_start=at + 2_000, kernel_dur=60_000, name="k", stream=7 + index, call_dur=1, **few
            )
        builder.launch(at + 200, kernel_start=at + 63_000, kernel_dur=30_000, name="large", **{"blocks per SM": 8.0})
    return builder


def _alone(name: str) -> TraceBuilder:
    """Compute for 6 ms, then for 4 ms a kernel on a stream of its own."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.launch(at, kernel_start=at + 8, kernel_dur=5_990, name="gemm")
        builder.launch(at + 30, kernel_start=at + 6_000, kernel_dur=3_995, name=name, stream=20, op=None)
    return builder


def _moves(*, compute: float) -> TraceBuilder:
    """Tables are copied to the device for 60 ms, and looked up for so long."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.copy("HtoD", at, 10, start=at + 20, dur=60_000, size=512 << 20, pinned=True)
        if compute:
            builder.launch(
                at + 12, kernel_start=at + 60_020, kernel_dur=compute, name="embedding_bag", op="aten::embedding_bag"
            )
    return builder


def _in_pieces(*, kernels: int) -> TraceBuilder:
    """Three steps of twenty copies of 2 ms, each before so many kernels of 0.5 ms; or all before them, with none between."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for what in (["copy"] + ["kernel"] * kernels) * 20 if kernels else ["copy"] * 20 + ["kernel"] * 40:
            if what == "copy":
                builder.copy("HtoD", at, 2_010, start=at + 5, dur=2_000, size=8 << 20)
            else:
                builder.launch(at, kernel_start=at + 6, kernel_dur=500, call_dur=4, op="aten::mm")
            at += 2_015 if what == "copy" else 508
    return builder


def _captures(*, replays: int) -> TraceBuilder:
    """Twelve steps of 100 ms: a graph is made in 60 ms, and replayed so many times."""
    builder = TraceBuilder()
    for number in range(12):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.runtime("cudaStreamBeginCapture", at + 10, 20)
        builder.runtime("cudaGraphInstantiateWithFlags", at + 1_000, 59_000)
        for index in range(replays):
            start = at + 61_000 + index * 38_000 / replays
            graph = builder.runtime("cudaGraphLaunch", start, 50)
            builder.kernel("gemm", start + 80, 30_000 / replays, correlation=graph)
    return builder


def _called_batches(builder: TraceBuilder) -> bool:
    (one,) = (one for one in explained(builder).findings if one.rule == "XF001")
    return one.title.startswith("Batches")


def _shares(compute: float, alone: float) -> TraceBuilder:
    """Waiting for data, computing, and collectives with nothing beside them."""
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        start = at + _STEP * (1 - compute - alone)
        builder.loader(at + 1, start - at - 10)
        builder.launch(start - 5, kernel_start=start, kernel_dur=_STEP * compute, name="gemm", call_dur=3)
        after = start + _STEP * compute
        builder.launch(
            start - 1, kernel_start=after, kernel_dur=_STEP * alone - 2, name=_NCCL, stream=20, op=None, call_dur=1
        )
    return builder


def _reorders(name: str, *, convolves: bool = True, device: str = "cuda", each: float = 900) -> TraceBuilder:
    """Half of the kernels by some name, on either side of a convolution, or of a product where nothing is one."""
    builder = TraceBuilder(device)
    main = ("aten::convolution", "cudnn_fprop_conv") if convolves else ("aten::bmm", "Cijk_Ailk_Bljk_HB_MT128x128x32")
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        for index in range(4):
            start = at + index * 2_400
            for place, (op, kernel, dur) in enumerate(
                (("aten::contiguous", name, each), (*main, 2_200 - 2 * each), ("aten::contiguous", name, each))
            ):
                builder.launch(
                    start + place * 8, kernel_start=start + 60 + place * 750, kernel_dur=dur, name=kernel, op=op
                )
    return builder


def _copies_out(*, late: float, device: str = "cuda", waits: bool = True) -> TraceBuilder:
    """A result of 1 MiB is copied to the host behind 4 ms of kernels, or noted with an event; the next op launches that late."""
    builder = TraceBuilder(device)
    call = "hipMemcpyWithStream" if device == "rocm" else "cudaMemcpyAsync"
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.launch(at, kernel_start=at + 10, kernel_dur=4_000, name="gemm", op="aten::mm")
        builder.copy("DtoH", at + 20, 4_100 if waits else 6, start=at + 4_015, dur=90, pinned=not waits)
        builder.events[-2]["name"] = call
        begins = at + 4_130 + late if waits else at + 40
        if late:
            builder.op("aten::linear", begins - late, late + 5)
        builder.launch(
            begins, kernel_start=max(begins + 10, at + 4_120), kernel_dur=5_500 - late, name="gemm", op="aten::mm"
        )
    return builder


def _sends(number: int, *, size: int, direction: str = "HtoD", device: str = "cuda") -> TraceBuilder:
    """So many copies of a size, 60 us of the host each, before the kernel that needs them."""
    builder = TraceBuilder(device)
    for step in range(4):
        at = step * _STEP
        builder.step(step, at, _STEP)
        for index in range(number):
            begin = at + index * 80
            builder.copy(direction, begin, 60, start=begin + 50, dur=4, size=size)
        builder.launch(
            at + 80 * number, kernel_start=at + 80 * number + 10, kernel_dur=9_900 - 80 * number, name="gemm"
        )
    return builder


def _reordered(name: str, **how: Any) -> bool:
    return _fires("KE002", _reorders(name, **how))


def _copied_out(**how: Any) -> bool:
    return _fires("SY002", _copies_out(**how))


def _sent_singly(number: int, **how: Any) -> bool:
    return _fires("XF003", _sends(number, **how))


def _keeps(promise: str) -> bool:
    """Whether a program without what made its host late is faster by no more than was called "at most"; kernels vary by 2 %."""
    code, program = LATE[promise]
    slow, fast = explained(program(slow=True)), explained(program(slow=False))
    (one,) = (item for item in slow.findings if item.rule == code)
    return one.saving.ns_per_step_max >= 0.98 * (slow.summary.step_ns.mean - fast.summary.step_ns.mean)


# Memory, a slow machine, the place of the host's code, ranges of tasks.


_CUDA, _HIP = ("cudaMalloc", "cudaFree"), ("hipMalloc", "hipFree")
_PI, _ACL = ("piextUSMDeviceAlloc", "piextUSMFree"), ("AscendCL@aclrtMallocAlign32", "AscendCL@aclrtFree")


def _allocating(
    steps: int,
    which: Collection[int],
    *,
    marked: bool = True,
    device: str = "cuda",
    how: tuple[str, str] | None = None,
) -> TraceBuilder:
    """Some steps take and give back device memory for 5.4 of 10 ms, by calls of the device's runtime."""
    builder = TraceBuilder(device)
    take, back = how or (_HIP if device == "rocm" else _CUDA)
    for number in range(steps):
        at = number * _STEP
        if marked:
            builder.step(number, at, _STEP)
        builder.op("aten::empty", at, 5_600)
        for index in range(60 if number in which else 0):
            builder.runtime(take, at + 90 * index + 2, 50)
            builder.runtime(back, at + 90 * index + 55, 30)
        builder.launch(at + 5_600, kernel_start=at + 5_610, kernel_dur=4_300, name="gemm", op=None)
        builder.optimizer(at + 9_950, 40)
    return builder


def _between_ops(gap: float, each: float, *, times: float | None) -> TraceBuilder:
    """Ops on the CPU with so much time before each, on a core that many times slower than a quiet one; or nobody knows how slow."""
    loop = {} if times is None else {"python_loop": {"turns": 10_000, "mean_ns": round(175_000 * times)}}
    builder = TraceBuilder(None, advisor=loop)
    names = ("linear", "relu", "conv2d", "softmax", "cat", "exp", "mean")
    for number in range(4):
        builder.step(number, number * 20_000, 20_000)
        for index in range(int(20_000 / each)):
            start = number * 20_000 + index * each
            builder.op(f"aten::{names[(index * index + 3 * index) % 7]}", start + gap, each - gap)
    return builder


def _silent(*, before_update: bool) -> TraceBuilder:
    """Training whose host is silent for 4 ms a step: between the loss and its update, or before the forward pass."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.launch(at, kernel_start=at + 5, kernel_dur=2_900, name="gemm", op="aten::linear", call_dur=20)
        builder.op("aten::ones_like" if before_update else "aten::relu", at + 2_900, 90)
        if before_update:
            builder.optimizer(at + 6_990, 90)
        builder.copy("HtoD", at + 7_091, 5, start=at + 7_097, dur=2, size=4 << 20, op=None, pinned=True)
        builder.launch(at + 7_100, kernel_start=at + 7_110, kernel_dur=2_800, name="gemm", op="aten::conv2d")
        builder.zero_grad(at + 9_950, 40)
    return builder


def _sends_to_loader(builder: TraceBuilder) -> bool:
    one = found("PY001", builder)
    return one is not None and any("DataLoader" in fix.code for fix in one.fix)


def _crossing(name: str) -> TraceBuilder:
    """Pairs of spans of one thread, each of which begins inside the other and ends after it."""
    builder = TraceBuilder(None)
    for number in range(4):
        builder.step(number, number * 5_000, 5_000)
    for index in range(100):
        at = index * 200 - 80 * (index % 2)
        builder.op(name.format(index), at, 180)
        builder.op("aten::relu", at + 185 if index % 2 else at + 5, 10, thread=AUTOGRAD)
    return builder


def _said(what: str, of: str, true: bool, said: Callable[[], bool]) -> Saying:
    return Saying(what, of, true, said)


_TALKING = (
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(p)",
    "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(p)",
    "multimem_all_reduce_kernel<c10::BFloat16>",
    "triton_all_gather_kernel",
)
_SILENT = (
    "void warp_all_reduce_softmax<float>(p)",
    "triton_red_fused_all_any_3",
    "fused_moe_dispatch_gemm_kernel",
    "void gather_elementwise_kernel<float>(p)",
)

# `late_hosts.py` has more of them, which `test_behind.py` asks about.
_PROMISED = ("a batch", "the program's own code", "a loop over elements")
_GAPS = (9_500.0,) * 3
_HISTORY = ("aten::dot", "aten::mul", "aten::item", "aten::add_")


def _parts() -> TraceBuilder:
    """A batch cut into twenty parts, whose gradients add up."""
    return sample_by_sample(each=10, adds_up=True)


def _second() -> TraceBuilder:
    """Twenty calls of `torch.autograd.grad` through one graph, and the backward pass of the loss."""
    return sample_by_sample(each=10, receiving=1, layer="aten::select")


def _penalty() -> TraceBuilder:
    """The same, but for a pass forward in front of each."""
    return sample_by_sample(each=10, receiving=1)


MECHANISMS = (
    _said("ranges are steps", "ten that tile the recording", True, lambda: _counts(_denoising("denoise {}", parts=1), 10)),
    _said("ranges are steps", "turns of a player", True, lambda: _counts(_denoising("player_turn {}", parts=1), 10)),
    _said("ranges are steps", "three that take turns", True, lambda: _counts(_in_turns("forward", "backward", "opt"), 5)),
    _said("ranges are steps", "two parts of a loop in turns", True, lambda: _counts(_in_turns("get_batch", "learn"), 5)),
    _said("ranges are steps", "parts of a layer in turns", False, lambda: _counts(_in_turns("attention", "mlp"), 5)),
    _said("ranges are steps", "norms among layers in turns", False, lambda: _counts(_in_turns("conv", "batch_norm"), 5)),
    _said("ranges are steps", "of layers, five to a step", False, lambda: _counts(_denoising("layer {}", parts=5), 50)),
    _said("a layer is a step", "a pass for each of 12 tokens", False, lambda: _steps_of(_decoding(tokens=12, layers=12)) > 12),
    _said("a layer is a step", "one pass of 48 layers", False, lambda: _steps_of(_decoding(tokens=1, layers=48)) > 1),
    _said("equal pieces are steps", "each read by the host", True, lambda: _steps_of(_pieces(received=True)) > 1),
    _said("equal pieces are steps", "layers with gaps", False, lambda: _steps_of(_pieces(received=False)) > 1),
    _said("kernels were lost", "launches without one", True, lambda: _lost(_recorded_capture(begun=False))),
    _said("kernels were lost", "launches that are captured", False, lambda: _lost(_recorded_capture(begun=True))),
    _said("a round of updates is a step", "two optimizers in turns", True, lambda: _counts(_updates("ab" * 5), 5)),
    _said("a round of updates is a step", "five of the critic to one", True, lambda: _counts(_updates("aaaaab" * 4), 4)),
    _said("a round of updates is a step", "one optimizer", False, lambda: _counts(_updates("a" * 10), 5)),
    _said("a round of updates is a step", "tasks with a batch each", False, lambda: _counts(_updates("ab" * 5, batches="ab"), 5)),
    _said("a round of updates is a step", "one for each group of parameters", True, lambda: _counts(groups(), 5)),
    _said("a round of updates is a step", "gradients before each", False, lambda: _counts(groups(between=True), 5)),
    _said("a wait is to be deleted", "nothing needs it", True, lambda: _advises("SY003", sent_home(copies=False), "Delete")),
    _said("a wait is to be deleted", "copies are awaited", False, lambda: _advises("SY003", sent_home(copies=True), "Delete")),
    _said("the program stops by itself", "no op stands still", True, lambda: _fires("PY001", stopping(gaps=_GAPS, stalls=0))),
    _said("the program stops by itself", "as many ops stop", False, lambda: _fires("PY001", stopping(gaps=_GAPS, stalls=3))),
    _said("gradients of samples are wanted", "none adds up", True, lambda: _advises("PY003", sample_by_sample(each=10), "vmap")),
    _said("gradients of samples are wanted", "parts of a batch", False, lambda: _advises("PY003", _parts(), "vmap")),
    _said("gradients of samples are wanted", "second derivatives", False, lambda: _advises("PY003", _second(), "vmap")),
    _said("a graph is gone through again", "second derivatives", True, lambda: _advises("PY003", _second(), "is_grads_batched")),
    _said("a graph is gone through again", "one for each sample", False, lambda: _advises("PY003", _penalty(), "is_grads_batched")),
    _said("turns could be one call", "of SGD", True, lambda: _fires("PY003", of_history("SGD", _HISTORY))),
    _said("turns could be one call", "LBFGS's history", False, lambda: _fires("PY003", of_history("LBFGS", _HISTORY))),
    _said("a scaler's read stalls", "in front of passes", True, lambda: _fires("SY001", scaled(fused=False))),
    _said("a scaler's read stalls", "in front of a fused update", False, lambda: _fires("SY001", scaled(fused=True))),
    _said("a graph would help", "1,500 launches of a model", True, lambda: _fires("GR004", in_update(updating=False))),
    _said("a graph would help", "1,500 launches of an update", False, lambda: _fires("GR004", in_update())),
    _said("keep own buffers", "sent for 6 ms", True, lambda: _advises("CO001", kept_alike(6_000, sums=200), "broadcast_b")),
    _said("keep own buffers", "sums for 3 ms", False, lambda: _advises("CO001", kept_alike(0, sums=3_000), "broadcast_b")),
    _said("it is launch-bound", "Intel's runtime, each kernel waits", True, lambda: _bound_by(_of_intel(late=True)) == "launch"),
    _said("it is launch-bound", "Intel's runtime, a filled queue", False, lambda: _bound_by(_of_intel(late=False)) == "launch"),
    _said("it is copy-bound", "a kernel waits for a copy", True, lambda: _bound_by(_on_another_stream(copies=True)) == "copy"),
    _said("it is copy-bound", "a kernel waits for kernels", False, lambda: _bound_by(_on_another_stream(copies=False)) == "copy"),
    _said("the queue is what binds", "gaps in a graph of HIP", True, lambda: _bound_by(_graph(gap=60)) == "queue"),
    _said("the queue is what binds", "a dense graph of HIP", False, lambda: _bound_by(_graph(gap=2)) == "queue"),
    _said("an op is named that holds it up", "half of the step", True, lambda: _names_nms(5_000)),
    _said("an op is named that holds it up", "a microsecond", False, lambda: _names_nms(1)),
    _said("a graph would help", "sixty launches, each waited for", True, lambda: _fires("GR004", _prepares(on_host=False))),
    _said("a graph would help", "two ops work on the host", False, lambda: _fires("GR004", _prepares(on_host=True))),
    _said("kernels are too small", "a sixteenth of the device", True, lambda: _fires("KE001", _grids(1, 8 / 132))),
    _said("kernels are too small", "two streams with a tenth each", True, lambda: _fires("KE001", _grids(2, 0.1))),
    _said("kernels are too small", "persistent, on all but four", False, lambda: _fires("KE001", _grids(1, 128 / 132))),
    _said("kernels are too small", "eight streams with a fifth each", False, lambda: _fires("KE001", _grids(8, 0.2))),
    *(_said("it communicates", name, True, lambda name=name: _fires("CO001", _alone(name))) for name in _TALKING),  # type: ignore[misc]
    *(_said("it communicates", name, False, lambda name=name: _fires("CO001", _alone(name))) for name in _SILENT),  # type: ignore[misc]
    _said("copies could be hidden", "35 ms of lookups behind 60", True, lambda: _fires("XF002", _moves(compute=35_000))),
    _said("copies could be hidden", "nothing is computed", False, lambda: _fires("XF002", _moves(compute=0))),
    _said("copies could be hidden", "behind a replayed graph", True, lambda: _fires("XF002", graphed(_moves(compute=35_000)))),
    _said("copies could be hidden", "a graph of 1 ms", False, lambda: _fires("XF002", graphed(_moves(compute=1_000)))),
    _said("copies could be hidden", "lookups on Intel's GPU", True, lambda: _fires("XF002", xpu(_moves(compute=35_000)))),
    _said("copies could be hidden", "1 ms on Intel's GPU", False, lambda: _fires("XF002", xpu(_moves(compute=1_000)))),
    _said("copies could be hidden", "lookups, private device", True, lambda: _fires("XF002", private_use(_moves(compute=35_000)))),
    _said("copies could be hidden", "1 ms on a private device", False, lambda: _fires("XF002", private_use(_moves(compute=1_000)))),
    _said("copies could be hidden", "Apple's, not recorded", False, lambda: _fires("XF002", mps(_moves(compute=35_000)))),
    _said("what is sent are batches", "all before the kernels", True, lambda: _called_batches(_in_pieces(kernels=0))),
    _said("what is sent are batches", "in turns with kernels", False, lambda: _called_batches(_in_pieces(kernels=3))),
    *(_said("a bound holds", name, True, lambda name=name: _keeps(name)) for name in _PROMISED),  # type: ignore[misc]
    _said("convolutions reorder", "by cuDNN", True, lambda: _reordered("cudnn::ops::nhwcToNchwKernel<half>")),
    _said("convolutions reorder", "by MIOpen", True, lambda: _reordered("batched_transpose_16x32_half", device="rocm")),
    _said("convolutions reorder", "weights only", False, lambda: _reordered("cudnn::ops::nchwToNhwcKernel<half>", each=15)),
    _said("convolutions reorder", "copies that keep the order", False, lambda: _reordered("direct_copy_kernel_cuda")),
    _said("convolutions reorder", "attention's own", False, lambda: _reordered("batched_transpose_kernel<float>", convolves=False)),
    _said("a result copied out holds it up", "4 ms of late launches", True, lambda: _copied_out(late=4_000)),
    _said("a result copied out holds it up", "the same on HIP", True, lambda: _copied_out(late=4_000, device="rocm")),
    _said("a result copied out holds it up", "the next launch follows", False, lambda: _copied_out(late=0)),
    _said("a result copied out holds it up", "pinned, nobody waits", False, lambda: _copied_out(late=0, waits=False)),
    _said("values are sent one by one", "sixty of 8 bytes", True, lambda: _sent_singly(60, size=8)),
    _said("values are sent one by one", "sixty on HIP", True, lambda: _sent_singly(60, size=8, device="rocm")),
    _said("values are sent one by one", "four of 8 bytes", False, lambda: _sent_singly(4, size=8)),
    _said("values are sent one by one", "sixty of 1 MiB", False, lambda: _sent_singly(60, size=1 << 20)),
    _said("values are sent one by one", "sixty within the device", False, lambda: _sent_singly(60, size=8, direction="DtoD")),
    _said("graphs are captured anew", "one replay each", True, lambda: _fires("GR003", _captures(replays=1))),
    _said("graphs are captured anew", "twenty replays each", False, lambda: _fires("GR003", _captures(replays=20))),
    _said("compute and communication are mixed", "68 and 22 %", True, lambda: _bound_by(_shares(0.68, 0.22)) == "mixed"),
    _said("compute and communication are mixed", "72 and 27 %", True, lambda: _bound_by(_shares(0.72, 0.27)) == "mixed"),
    _said("compute and communication are mixed", "62 and 21 %", True, lambda: _bound_by(_shares(0.62, 0.21)) == "mixed"),
    _said("compute and communication are mixed", "55 and 27 %", False, lambda: _bound_by(_shares(0.55, 0.27)) == "mixed"),
    _said("compute and communication are mixed", "55 and 44 %", False, lambda: _bound_by(_shares(0.55, 0.44)) == "mixed"),
    _said("compute and communication are mixed", "85 and 14 %", False, lambda: _bound_by(_shares(0.85, 0.14)) == "mixed"),
    _said("allocating is a habit", "each of three steps", True, lambda: _fires("ME001", _allocating(3, range(3)))),
    _said("allocating is a habit", "each, by the optimizer", True, lambda: _fires("ME001", _allocating(6, range(6), marked=False))),
    _said("allocating is a habit", "each of four, HIP", True, lambda: _fires("ME001", _allocating(4, range(4), device="rocm"))),
    _said("allocating is a habit", "each of three, Intel's PI", True, lambda: _fires("ME001", _allocating(3, range(3), how=_PI))),
    _said("allocating is a habit", "first of three, Intel's PI", False, lambda: _fires("ME001", _allocating(3, {0}, how=_PI))),
    _said("allocating is a habit", "each of three, Ascend", True, lambda: _fires("ME001", _allocating(3, range(3), how=_ACL))),
    _said("allocating is a habit", "first of three, Ascend", False, lambda: _fires("ME001", _allocating(3, {0}, how=_ACL))),
    _said("allocating is a habit", "the first of three", False, lambda: _fires("ME001", _allocating(3, {0}))),
    _said("allocating is a habit", "first, by the optimizer", False, lambda: _fires("ME001", _allocating(6, {0}, marked=False))),
    _said("allocators bind it", "each of three steps", True, lambda: _bound_by(_allocating(3, range(3))) == "allocator"),
    _said("allocators bind it", "the first of three steps", False, lambda: _bound_by(_allocating(3, {0})) == "allocator"),
    _said("Python is slow", "3 of 10 ms, on a slow core", True, lambda: _fires("PY001", _between_ops(3_000, 10_000, times=4))),
    _said("Python is slow", "0.3 of 1.5 ms, on a quiet core", True, lambda: _fires("PY001", _between_ops(300, 1_500, times=1))),
    _said("Python is slow", "0.3 of 1.5 ms, on a slow core", False, lambda: _fires("PY001", _between_ops(300, 1_500, times=4))),
    _said("Python is slow", "0.25 of 1.5 ms, on any", False, lambda: _fires("PY001", _between_ops(250, 1_500, times=None))),
    _said("a loader would help", "silence before the forward pass", True, lambda: _sends_to_loader(_silent(before_update=False))),
    _said("a loader would help", "silence before the update", False, lambda: _sends_to_loader(_silent(before_update=True))),
    _said("the trace is of several ranks", "operators that cross", True, lambda: _unusable("aten::op")),
    _said("the trace is of several ranks", "tasks whose ranges cross", False, lambda: _unusable("handle request {}")),
)  # fmt: skip


def _names_nms(each: float) -> bool:
    answer = explained(_detects(each=each))
    return "inside `torchvision::nms`" in " ".join([answer.summary.verdict.text, *(one.why for one in answer.findings)])


def _unusable(name: str) -> bool:
    return explained(_crossing(name)).trust.verdict == "unusable"
