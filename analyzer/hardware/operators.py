"""Time and work of each operator with the same inputs, over the used steps."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts import Facts
from analyzer.facts.host.ops import OpTree, pick, pick_row
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.hardware import products
from analyzer.hardware.call import Work
from analyzer.hardware.other_ops import of_calls, of_kernels
from analyzer.hardware.sparse import UNKNOWN, sparse_products
from analyzer.hardware.work import FORMULAS, PRODUCTS, work_of
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import distinct_columns, sums_by
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

# Ops of libraries that multiply matrices inside, with no op of torch's around each product.
_UNCOUNTED = Pattern(
    r"_rnn(?:_layer)?(?:_backward)?$|_scaled_grouped_mm|_int_mm$|_(?:linear|convolution)_pointwise"
    r"|mkl(?:dnn)?_linear|_convolution_transpose_pointwise|(?:quantized|onednn)::q?(?:linear|conv|mat)"
    r"|_weight_int[48]pack_mm|_dyn_quant_matmul"
)
# Ops that somebody else than torch wrote. What torch's own do without a formula is known by their names.
_FOREIGN = Pattern(r"(?!aten::|prims?::|autograd::|torch::|c10d|_c10d|profiler::|inductor::)\w+::")
# Products that compute by themselves. One around another product hands on what it was called with: under `torch.vmap` its recorded
# shapes are those of one sample, the product inside has the batch.
_PLAIN = frozenset(name for name in products.FORMULAS if re.search(r"::_?b?(?:add)?b?mm(?:_|_activation)?$", name))
# What a file can say of sizes at most: 64 bits.
_MOST = 2**63


class Operator(msgspec.Struct, frozen=True):
    """All calls of an op with the same inputs, in the used steps.

    Args:
        op: Name.
        input_dims: Recorded shapes, JSON; empty where there are none.
        input_types: Recorded types, likewise.
        calls: How many calls.
        device_ns: Sum of their kernels' durations; of the calls themselves where no device was recorded.
        work: What one call has to do, or why that is not known.
        formats: Number formats that its kernels' names state, each with its time; empty where none does.
        again: How many of the calls compute again what was computed before, to save memory.
    """

    op: str
    input_dims: str
    input_types: str
    calls: int
    device_ns: int
    work: Work | str
    formats: dict[str, int]
    again: int = 0


class Operators(msgspec.Struct, frozen=True, eq=False):
    """Operators with a formula, the longest first.

    Args:
        rows: One to an op and its inputs.
        all_ns: Time of all kernels of the used steps but collectives', of those that belong to none of `rows` too; of all ops
            that are inside no other where no device was recorded.
        of_kernel: For each kernel of `facts.kernels.named` the place of its operator in `rows`, -1 where it has none; empty
            without a device.
        other_products_ns: Time of kernels that multiply matrices and belong to no product in `rows`: of graphs, of compiled code.
            Without a device that of ops which are known to multiply and have no formula.
        untold_ns: Time of kernels that may be products: neither their names nor an op of torch's tells what they compute. Without
            a device that of such ops outside those they call.
        others: Ops without a formula, with the time of their kernels; without a device their own outside those they call. The
            longest first.
        perhaps_computed: Products without a device of which nothing tells whether a recomputation did them; in no row.
    """

    rows: tuple[Operator, ...]
    all_ns: int
    of_kernel: Int64Array
    other_products_ns: int
    untold_ns: int
    others: tuple[tuple[str, int], ...]
    perhaps_computed: int

    def kernels_of(self, places: Sequence[int]) -> BoolArray:
        """Which kernels belong to the operators at these places in `rows`, shape (kernels,)."""
        return np.isin(self.of_kernel, places)


class _Formats(msgspec.Struct, frozen=True, eq=False):
    """Kernels whose names state a number format.

    Args:
        op: Row of the op that each belongs to, shape (kernels,).
        kind: Place of its format in `names`, likewise.
        time: Its duration, likewise.
        names: All formats.
    """

    op: Int64Array
    kind: Int64Array
    time: Int64Array
    names: list[str]

    def by_group(self, group: Int64Array, groups: int) -> list[dict[str, int]]:
        """The formats of each group of ops, with their time, nanoseconds.

        Args:
            group: Of each kernel's op, shape (kernels,).
            groups: How many there are.
        """
        found: list[dict[str, int]] = [{} for _ in range(groups)]
        many = max(len(self.names), 1)
        calls, spent = sums_by(group * many + self.kind, self.time, groups * many)
        for code in np.flatnonzero(calls).tolist():
            found[code // many][self.names[code % many]] = int(spent[code])
        return found


def operators(facts: Facts) -> Operators:
    """The operators of the used steps; measured once."""
    return facts.once("hardware.operators", lambda: _operators(facts))


def _operators(facts: Facts) -> Operators:
    """Groups calls by op and inputs. A call inside another that has a formula belongs to that one, so nothing counts twice."""
    tree = facts.host.ops
    stated = present(tree.ops["stated_bytes"]) | present(tree.ops["stated_flops"])
    counted = tree.outermost((tree.named(FORMULAS.__contains__) & ~_handed_on(tree)) | stated)
    if facts.device.main is None:
        counted &= ~facts.kernels.not_computed.certainly
        rows, time, all_ns, other_products_ns = _on_the_host(facts, counted)
        others = of_calls(tree, facts.steps.host_window.contains(tree.ops["start_ns"].to_numpy()), counted)
        untold_ns = sum(spent for name, spent in others if _FOREIGN.match(name) and not _UNCOUNTED.search(name))
        perhaps = pick(facts.kernels.not_computed.perhaps & tree.named(PRODUCTS.__contains__), rows)
        perhaps_computed, rows, time = int(perhaps.sum()), rows[~perhaps], time[~perhaps]
        owner = np.empty(0, dtype=np.int64)
        formats = _Formats(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])
    else:
        frame = facts.kernels.named.frame
        owner = pick_row(tree.nearest(counted), frame["op"].to_numpy())
        known = owner != NONE
        duration = frame["dur_ns"].to_numpy()
        # A collective's kernel may be launched in an op that only hands its result on, as a hook of a gradient: no op's work.
        works = ~facts.kernels.named.collective
        others = of_kernels(tree, frame["op"].to_numpy()[works & ~known], duration[works & ~known])
        all_ns = int(duration[works].sum())
        of_torch = np.append(tree.named(lambda name: name.startswith("aten::")), False)[frame["op"].to_numpy()]
        untold_ns = int(duration[works & ~known & ~of_torch & facts.kernels.named.is_family("other")].sum())
        rows, place = np.unique(owner[known], return_inverse=True)
        time = np.bincount(place, weights=duration[known], minlength=len(rows)).astype(np.int64)
        kind = codes_of(frame["number_format"]).astype(np.int64)
        stating = known & (kind >= 0)
        formats = _Formats(owner[stating], kind[stating], duration[stating], distinct_texts(frame["number_format"]))
        multiplies = np.append(tree.named(PRODUCTS.__contains__), False)[owner]
        # What did not compute launched nothing.
        perhaps_computed = 0
        other_products_ns = int(duration[facts.kernels.named.is_family(*MATRIX_FAMILIES) & ~multiplies].sum())
    sparse = sparse_products(tree, counted & tree.named(_PLAIN.__contains__))
    found, number = _grouped(facts, rows, time, formats, sparse)
    # From the row of an op to the place of its operator; the last entry is for kernels without one.
    of_op = np.full(len(tree.ops) + 1, NONE, dtype=np.int64)
    of_op[rows] = number
    return Operators(found, all_ns, of_op[owner], other_products_ns, untold_ns, others, perhaps_computed)


def _handed_on(tree: OpTree) -> BoolArray:
    """Products that leave the work to another product inside them. Shape (ops,)."""
    rows = np.arange(len(tree.parent))
    around = np.where(tree.parent == rows, NONE, tree.nearest(tree.named(PRODUCTS.__contains__))[tree.parent])
    inside = np.zeros(len(rows), dtype=np.bool_)
    inside[around[tree.named(PRODUCTS.__contains__) & (around != NONE)]] = True
    return inside & tree.named(_PLAIN.__contains__)


def _on_the_host(
    facts: Facts, counted: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Int64Array, Int64Array, int, int]:
    """Without a device the op itself does the work."""
    tree = facts.host.ops
    inside = facts.steps.host_window.contains(tree.ops["start_ns"].to_numpy())
    duration = tree.ops["dur_ns"].to_numpy(dtype=np.int64)
    roots = inside & (tree.depth == 0)
    rows = np.flatnonzero(counted & inside)
    others = inside & tree.named(lambda name: _UNCOUNTED.search(name) is not None) & ~tree.named(FORMULAS.__contains__)
    return rows, duration[rows], int(duration[roots].sum()), int(duration[others].sum())


def _grouped(
    facts: Facts, rows: Int64Array, time: Int64Array, formats: _Formats, sparse: BoolArray
) -> tuple[tuple[Operator, ...], Int64Array]:
    """The operators, the longest first, and the place of each op's operator among them; shape of `rows`."""
    ops = facts.trace.ops
    columns = [ops[name] for name in ("name", "input_dims", "input_types", "concrete_inputs")]
    stated = [pd.factorize(ops[name].to_numpy()[rows]) for name in ("stated_flops", "stated_bytes")]
    codes = np.stack(
        [
            *(codes_of(column).astype(np.int64)[rows] for column in columns),
            *(code for code, _ in stated),
            sparse[rows].astype(np.int64),
        ]
    )
    keys, place = distinct_columns(codes)
    groups = keys.shape[1]
    weights = (None, time, facts.kernels.recomputation.ops[rows])
    calls, totals, again = (np.bincount(place, one, groups).astype(np.int64).tolist() for one in weights)
    kinds = formats.by_group(place[np.searchsorted(rows, formats.op)], groups)
    # The last entry is for codes of nothing.
    texts = [[*distinct_texts(column), ""] for column in columns]
    figures = [[*map(float, values), None] for _, values in stated]
    found = []
    for group, (name, dims, types, values, flops, moved, is_sparse) in enumerate(keys.T.tolist()):
        asked = [table[code] for table, code in zip(texts, (name, dims, types, values), strict=True)]
        work = UNKNOWN if is_sparse else _work(asked, figures[0][flops], figures[1][moved])
        if isinstance(work, Work) and calls[group] * max(work.flops, work.bytes or 0) >= _MOST:
            work = "the recorded sizes are beyond those of any device"
        found.append(
            Operator(
                op=asked[0], input_dims=asked[1], input_types=asked[2], calls=calls[group], device_ns=totals[group],
                work=work, formats=kinds[group], again=again[group],
            )
        )  # fmt: skip
    order = sorted(range(len(found)), key=lambda one: (-found[one].device_ns, found[one].op, found[one].input_dims))
    number = np.empty(len(found), dtype=np.int64)
    number[order] = np.arange(len(found))
    return tuple(found[one] for one in order), number[place] if len(found) else place.astype(np.int64)


def _work(asked: Sequence[str], flops: float | None, moved: float | None) -> Work | str:
    """What a call has to do: what Inductor says of its own kernel, which leaves out operations of kernels without products."""
    if flops is None and moved is None:
        return work_of(*asked)
    return Work(round(flops or 0), None if moved is None else round(moved))
