"""Worlds that look alike and are not: names of kernels, versions of programs, first steps and batches, written against the tool.

`python tests/confusion.py` prints a row for each thing that is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from analyzer.compare.comparison import compare
from analyzer.compare.snapshot import snapshot as snapshot_of
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.builders import TraceBuilder
from building.dialects import torch_1_9
from known.sayings import MS, Saying, advised, explained, found
from known.scenarios import world
from rules import RULES
from showing.snapshots import snapshot

_STEP = 10_000.0
_JOB = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
_ALONE = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}}


def _said(what: str, of: str, true: bool, said: Callable[[], bool]) -> Saying:
    return Saying(what, of, true, said)


# 5: what a kernel's name alone does not tell.


def _beside(
    name: str,
    *,
    op: str | None = None,
    top: dict[str, Any] | None = None,
    dur: float = 3_995,
    device: str = "cuda",
    **stated: Any,
) -> TraceBuilder:
    """Products for the rest of 10 ms, then a kernel of a name on a stream of its own, launched by an op or by none."""
    builder = TraceBuilder(device, top=top or {})
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        rest = _STEP - dur - 15
        builder.launch(at, kernel_start=at + 8, kernel_dur=rest, name="ampere_sgemm_128x64_tn", op="aten::mm")
        builder.launch(at + 30, kernel_start=at + 8 + rest, kernel_dur=dur, name=name, stream=20, op=op, **stated)
    return builder


def _fires(code: str, builder: TraceBuilder) -> bool:
    return found(code, builder) is not None


def _talks(name: str, **how: Any) -> bool:
    """Whether a kernel is told as communication that nothing hides."""
    return _fires("CO001", _beside(name, **how))


def _sure(name: str, **how: Any) -> bool:
    """Whether the verdict is sure of what binds a run whose device spends seven tenths in a kernel of such a name."""
    verdict = explained(_beside(name, dur=7_000, **how)).summary.verdict
    return verdict.bound_by != "unknown"


_METADATA = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Group size": 8, "dtype": "Float"}
_WITHIN = (
    "all_reduce_warp_sum",
    "all_reduce_block_max_kernel",
    "void warp_all_reduce_softmax<float>(p)",
    "simd_all_reduce_f32",
)

NAMES = (
    # The op that launches it says what its name leaves open.
    _said("an exchange by what launched it", "softmax beside it in the name", True,
          lambda: _talks("reduce_scatter_softmax_local_kernel", op="c10d::_reduce_scatter_base_", top=_JOB)),
    _said("an exchange by what launched it", "torch's symmetric memory", True,
          lambda: _talks("my_exchange_kernel", op="symm_mem::one_shot_all_reduce", top=_JOB)),
    _said("an exchange by what launched it", "vLLM's own all-reduce", True,
          lambda: _talks("fused_ar_kernel", op="_C_custom_ar::all_reduce", top=_JOB)),
    _said("an exchange by what launched it", "metadata of the group", True,
          lambda: _talks("reduce_scatter_softmax_local_kernel", top=_JOB, **_METADATA)),
    _said("an exchange by what launched it", "the op is softmax", False,
          lambda: _talks("reduce_scatter_softmax_kernel", op="aten::_softmax", top=_JOB)),
    _said("an exchange by what launched it", "words of it, the op is a norm", False,
          lambda: _talks("all_reduce_kernel", op="aten::native_layer_norm", top=_JOB)),
    _said("an exchange by what launched it", "words of it, one process", False, lambda: _talks("all_reduce_kernel", top=_ALONE)),
    _said("an exchange by what launched it", "a product within its op", False,
          lambda: _talks("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", op="symm_mem::fused_all_gather_matmul", top=_JOB)),
    *(_said("an exchange by what launched it", name, False, lambda name=name: _talks(name, top=_JOB)) for name in _WITHIN),  # type: ignore[misc]
    # Nothing speaks: neither is said.
    _said("it is known what binds it", "an exchange by NCCL", True,
          lambda: _sure("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", top=_JOB)),
    _said("it is known what binds it", "a product", True, lambda: _sure("ampere_sgemm_128x64_nn", top=_JOB)),
    _said("it is known what binds it", "an exchange, Triton's", True, lambda: _sure("one_shot_all_reduce_kernel", top=_JOB)),
    _said("it is known what binds it", "reductions in a warp", True, lambda: _sure("all_reduce_warp_sum", top=_JOB)),
    _said("it is known what binds it", "an exchange fused with a product", False,
          lambda: _sure("all_gather_matmul_kernel", top=_JOB)),
    _said("it is known what binds it", "the same on ROCm", False,
          lambda: _sure("all_gather_matmul_kernel", top=_JOB, device="rocm")),
    _said("it is known what binds it", "words of both, of nobody", False,
          lambda: _sure("reduce_scatter_softmax_local_kernel", top=_JOB)),
    _said("it is known what binds it", "the same, one process", True,
          lambda: _sure("reduce_scatter_softmax_local_kernel", top=_ALONE)),
)  # fmt: skip


# 9: what the program's versions have.


def _runs(code: str, torch: str | None, pattern: str, **keys: Any) -> bool:
    """Whether a fix of a rule's world holds a pattern without a word on what it needs."""
    builder = world(code)
    builder.top["advisor"] = (builder.top.get("advisor") or {}) | ({"versions": {"torch": torch}} if torch else {})
    builder.top |= keys
    one = found(code, builder)
    return one is not None and any(
        re.search(pattern, f"{fix.code}\n{fix.note}") and not re.search("Needs torch|upgrade", fix.note)
        for fix in one.fix
    )


def _in_all(torch: str, pattern: str, *codes: str) -> bool:
    return any(_runs(code, torch, pattern) for code in codes)


_ANY = (
    "PR001",
    "GR001",
    "GR004",
    "GR005",
    "GR007",
    "OP001",
    "OP002",
    "OP004",
    "ME001",
    "KE006",
    "CO001",
    "SY004",
    "PR002",
)


def _by_dialect(*, old: bool) -> bool:
    """Whether the compiler is advised where nothing but the file's dialect may tell that torch is old."""
    return advised("GR001", torch_1_9(world("GR001")) if old else world("GR001"), r"(?m)^\+.*torch\.compile")


VERSIONS = (
    _said("autocast of any device", "torch 1.10", True, lambda: _runs("PR001", "1.10.0", r"torch\.autocast\(")),
    _said("autocast of any device", "torch 1.9", False, lambda: _runs("PR001", "1.9.1", r"torch\.autocast\(")),
    _said("fused attention of torch", "torch 2.0", True, lambda: _runs("GR005", "2.0.1", "scaled_dot_product_attention")),
    _said("fused attention of torch", "torch 1.13", False, lambda: _runs("GR005", "1.13.1", "scaled_dot_product_attention")),
    _said("passes over all at once", "torch 1.12", True, lambda: _runs("OP001", "1.12.1", "foreach=True")),
    _said("passes over all at once", "torch 1.11", False, lambda: _runs("OP001", "1.11.0", "foreach=True")),
    _said("norms at once", "torch 2.0", True, lambda: _runs("OP004", "2.0.0", "foreach=True")),
    _said("norms at once", "torch 1.13", False, lambda: _runs("OP004", "1.13.0", r"clip_grad_norm_\(.*foreach=True")),
    _said("the compiler, by the dialect", "torch 1.9, unstated", False, lambda: _by_dialect(old=True)),
    _said("the compiler, by the dialect", "torch 2, unstated", True, lambda: _by_dialect(old=False)),
    _said("the compiler, on any version", "torch 1.13", False,
          lambda: _in_all("1.13.1", r"torch\.compile|torch\.func|vmap", *_ANY)),
    _said("the compiler, on any version", "torch 2.3", True, lambda: _in_all("2.3.0", r"torch\.compile", *_ANY)),
    _said("segments that expand", "torch 2.1", True, lambda: _runs("ME003", "2.1.0", "expandable_segments")),
    _said("segments that expand", "torch 2.0", False, lambda: _runs("ME003", "2.0.1", "expandable_segments")),
)  # fmt: skip


# 11: first steps, batches, step times.


def _shapes(op: str, *dims: Sequence[Any], beside: str | None = None) -> int | None:
    """The batch that is stated of steps whose first op has such shapes, behind another op or none."""
    builder = TraceBuilder(None)
    for number, one in enumerate(dims):
        builder.step(number, number * 1_000, 1_000)
        builder.op(op, number * 1_000 + 10, 500, **{"Input Dims": list(one)})
        if beside:
            builder.op(beside, number * 1_000 + 520, 200)
    facts = Facts(builder.trace())
    return snapshot_of(explain_facts(facts, rules=RULES).analysis, facts).conditions.batch


def _images(*sizes: int) -> list[list[int]]:
    return [[*sizes, 224, 224], [64, sizes[-1], 7, 7], []]


def _rows(count: int) -> list[list[int]]:
    return [[count, 4_096], [4_096, 4_096], []]


def _cut(*, first: float, kernels: int = 10, backward: bool = False) -> bool:
    """Whether the first of five steps of 10 ms is used, whose mark begins that late and which shows so many of ten kernels."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * _STEP
        begins = at + first if number == 0 else at
        builder.step(number, begins, at + _STEP - begins)
        for index in range(10):
            if number == 0 and index < 10 - kernels:
                continue
            start = at + 20 + index * 990
            builder.launch(start, kernel_start=start + 10, kernel_dur=950, name=f"k{index}",
                           op="aten::mm" if index < 5 or not backward else "MmBackward0")  # fmt: skip
    return bool(Facts(builder.trace()).steps.frame["used"].iloc[0])


def _answers(before: Sequence[float], after: Sequence[float]) -> bool:
    sides = (snapshot(steps_ns=tuple(round(step * MS) for step in side)) for side in (before, after))
    change = compare(*([side] for side in sides)).change
    return change is not None and change.kind != "inconclusive"


STEPS = (
    _said("a batch is stated", "images of each step", True, lambda: _shapes("aten::conv2d", *[_images(64, 3)] * 4) == 64),
    _said("a batch is stated", "rows of a table", True, lambda: _shapes("aten::linear", *[_rows(8_192)] * 4) == 8_192),
    _said("a batch is stated", "packed tokens, as many in each step", False,
          lambda: _shapes("aten::linear", *[_rows(8_192)] * 4, beside="aten::scaled_dot_product_attention") == 8_192),
    _said("a batch is stated", "one image without a batch", False, lambda: _shapes("aten::conv2d", *[_images(3)] * 4) == 3),
    _said("a batch is stated", "one signal without a batch", False,
          lambda: _shapes("aten::conv1d", *[[[16, 4_000], [32, 16, 7], []]] * 4) == 16),
    _said("a batch is stated", "weights times weights", False,
          lambda: _shapes("aten::mm", *[[[4_096, 16], [16, 4_096]]] * 4) == 4_096),
    _said("the first step is used", "whole, its mark a little late", True, lambda: _cut(first=15)),
    _said("the first step is used", "begun inside, mark and kernels", False, lambda: _cut(first=4_000, kernels=6)),
    _said("the first step is used", "begun inside its backward pass", False, lambda: _cut(first=6_000, kernels=4, backward=True)),
    _said("the first step is used", "kernels lost, mark whole", False, lambda: _cut(first=0, kernels=3)),
    _said("step times get an answer", "three a side, far apart", True, lambda: _answers([10, 10.1, 10.2], [5, 5.1, 5.2])),
    _said("step times get an answer", "thirty a side, one outlier each", True,
          lambda: _answers([10 + 0.01 * (i % 5) for i in range(29)] + [30], [9 + 0.01 * (i % 5) for i in range(29)] + [40])),
    _said("step times get an answer", "one a side, close", False, lambda: _answers([10], [9.9])),
    _said("step times get an answer", "two groups on both sides", False,
          lambda: _answers([10, 20] * 5, [10.05, 19.9] * 5)),
)  # fmt: skip

ALIKE = (*NAMES, *VERSIONS, *STEPS)
