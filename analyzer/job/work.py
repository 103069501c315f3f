"""What a rank computes, by kernel and shape (by op without a device): tells a slow device, or too few cores, from more work."""

from __future__ import annotations

import hashlib
import math

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts import Facts
from analyzer.facts.host.ops import OpTree
from analyzer.hardware.work import PRODUCTS
from analyzer.job.interrupted import interrupted_ns
from analyzer.job.of_ops import work_of_ops
from analyzer.job.products import products_of_steps
from analyzer.ranks.summary import KernelRow
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array, ObjectArray
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching, texts
from traces.patterns import Pattern
from traces.reader.names.collectives import is_collective_op

# Of ops: what only calls others, and would hide what they work on.
_CALLERS = Pattern(
    r"autograd::engine::|torch::autograd::|torch\.distributed\.|DistributedDataParallel|Optimizer\.|enumerate\("
)


class Worked(msgspec.Struct, frozen=True):
    """What a rank computes in the used steps.

    Args:
        rows: Kernels by name and shape, without collectives; outermost ops where there is no device.
        interrupted_ns: What single ops take longer than the same ones in most steps; None on a device, or where nobody can tell.
        product_flops: Floating-point operations of the products of each used step; None without any of known shapes.
    """

    rows: tuple[KernelRow, ...]
    interrupted_ns: int | None
    product_flops: tuple[float | None, ...]


def worked(facts: Facts) -> Worked:
    """Looks at the kernels, or at the ops of a host."""
    work = work_of_ops(facts.trace.ops)
    products = products_of_steps(facts, work)
    if facts.device.main is not None:
        return Worked(_rows(_kernels(facts, work)), None, products)
    ops = _ops(facts, work)
    return Worked(_rows(ops), interrupted_ns(ops, facts.steps), products)


def _rows(frame: pd.DataFrame) -> tuple[KernelRow, ...]:
    if not len(frame):
        return ()
    names, shapes = frame["name"].to_numpy(), frame["shape"].to_numpy()
    place, first = _alike(names, shapes)
    beside, dur = frame["beside"].to_numpy(dtype=bool), frame["dur_ns"].to_numpy()
    count, total = sums_by(place, dur, len(first))
    beside_count, beside_total = sums_by(place[beside], dur[beside], len(first))
    work = _first_known(place, frame["work"].to_numpy(), len(first))
    order = np.argsort(-total, kind="stable")
    columns = (names[first], shapes[first], count, total, beside_count, beside_total, work)
    return tuple(
        KernelRow(
            name=name,
            shape=shape,
            count=many,
            dur_ns=dur_ns,
            beside_count=many_beside,
            beside_ns=beside_ns,
            work=None if math.isnan(size) else size,
        )
        for name, shape, many, dur_ns, many_beside, beside_ns, size in zip(
            *(column[order].tolist() for column in columns), strict=True
        )
    )


def _alike(names: ObjectArray, shapes: ObjectArray) -> tuple[Int64Array, Int64Array]:
    """The number of each row's name and shape in the order they are met, shape (rows,); and the first row of each."""
    name, _ = pd.factorize(names)
    shape, distinct = pd.factorize(shapes)
    place, met = pd.factorize(name.astype(np.int64) * len(distinct) + shape)
    first = np.empty(len(met), dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return place, first


def _first_known(place: Int64Array, values: FloatArray, groups: int) -> FloatArray:
    """The first value of each group that is no NaN; NaN where it has none. Shape (groups,)."""
    known = ~np.isnan(values)
    found = np.full(groups, np.nan)
    found[place[known][::-1]] = values[known][::-1]
    return found


def _kernels(facts: Facts, of_ops: FloatArray) -> pd.DataFrame:
    frame = facts.kernels.named.frame
    frame = frame[~frame["collective"].to_numpy(dtype=bool)]
    ops = facts.trace.ops
    dims = ops["input_dims"]
    # An op that is unknown is the last one; -1 is what has no shapes too.
    codes = np.append(codes_of(dims).astype(np.int64), -1)[frame["op"].to_numpy()]
    work = np.append(of_ops, np.nan)[frame["op"].to_numpy()]
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    shapes = _shapes(codes, distinct_texts(dims), frame["blocks_per_sm"].to_numpy())
    beside = _beside(facts.communication.collectives.running, start, end)
    return _table(texts(frame["name"]), shapes, end - start, beside, work)


def _ops(facts: Facts, of_ops: FloatArray) -> pd.DataFrame:
    ops = facts.trace.ops
    # What only calls others has no shapes of its own, or the same ones whatever they work on.
    outer = facts.host.ops.outermost(~matching(ops["name"], _CALLERS.match))
    chosen = outer & facts.steps.host_window.contains(ops["start_ns"].to_numpy())
    work = _with_inner(facts.host.ops, outer, of_ops)[chosen]
    ops = ops[chosen]
    # An op that waits for others is no work.
    alone = ~matching(ops["name"], is_collective_op)
    ops, work = ops[alone], work[alone]
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    dims = ops["input_dims"]
    shapes = _shapes(codes_of(dims).astype(np.int64), distinct_texts(dims), np.full(len(ops), np.nan))
    beside = _beside(facts.communication.collectives.running, start, end)
    # Nor is what an op waits for others meanwhile, as FSDP's hooks do inside a node of the backward pass.
    waited = facts.time.waterfall.owned("communication").overlap_with(start, end)
    return _table(texts(ops["name"]), shapes, end - start - waited, beside, work).assign(start_ns=start)


def _with_inner(tree: OpTree, outer: BoolArray, work: FloatArray) -> FloatArray:
    """What each op has to do, of outermost ones without a formula what those inside have: their products, else their passes.

    A linear layer and its backward pass have no formula, and are most of what a model computes.
    """
    known = ~np.isnan(work)
    inner = np.flatnonzero(tree.outermost(known) & ~outer)
    around = tree.nearest(outer).take(inner)
    inner, around = inner[around >= 0], around[around >= 0]
    products = matching(tree.ops["name"].iloc[inner], PRODUCTS.__contains__)
    found = work.copy()
    for mask in (~products, products):
        summed = np.bincount(around[mask], weights=work[inner[mask]], minlength=len(work))
        lacks = ~known & (summed > 0)
        found[lacks] = summed[lacks]
    return found


def _shapes(codes: Int64Array, dims: list[str], blocks: npt.NDArray[np.float64]) -> ObjectArray:
    """A fingerprint for each row, made once for each distinct pair of shapes and blocks. Shape (rows,).

    Args:
        codes: Place of each row's shapes in `dims`, -1 where unknown, shape (rows,).
        dims: Shapes as recorded.
        blocks: Blocks per multiprocessor, NaN where unknown, shape (rows,).
    """
    # NaN is a number of its own here, -1 before the sum.
    number, sizes = pd.factorize(blocks)
    place, met = pd.factorize(codes * (len(sizes) + 1) + number + 1)
    made = [
        _shape(dims[code] if code >= 0 else None, sizes[many - 1] if many else math.nan)
        for code, many in zip(*(part.tolist() for part in np.divmod(met, len(sizes) + 1)), strict=True)
    ]
    return np.array(made, dtype=object)[place] if len(made) else np.empty(0, dtype=object)


def _table(
    names: ObjectArray, shapes: ObjectArray, dur: npt.NDArray[np.int64], beside: BoolArray, work: FloatArray
) -> pd.DataFrame:
    return pd.DataFrame({"name": names, "shape": shapes, "dur_ns": dur, "beside": beside, "work": work})


def _beside(running: IntervalSet, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> BoolArray:
    """Which spans a collective runs beside for more than half of them."""
    together: BoolArray = 2 * running.overlap_with(start, end) > end - start
    return together


def _shape(dims: object, blocks: float) -> str:
    """A fingerprint of what a kernel works on: its op's shapes, else how many blocks it has; empty where neither is known."""
    parts = [dims] if isinstance(dims, str) else []
    parts += [] if np.isnan(blocks) else [f"{blocks:.4g}"]
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()[:8] if parts else ""
