"""Time per operator: by op, op and shape, kernel or module; who calls it, what it calls, and where its longest calls are.

Figures are means per used step. Host times are of the calls that start in a used step; device time is that of the work launched
inside an op (or of the kernel itself). Nested calls of one group count once in its totals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.labels import is_any, matching
from analyzer.spans.span_tree import SpanTree, innermost
from analyzer.views.concerns import Concern, Part, rules_of
from analyzer.views.operator_rows import Example, Group, Neighbour, OperatorDetail, OperatorRow

if TYPE_CHECKING:
    from analyzer.facts import Facts

MOST_NEIGHBOURS = 12
MOST_EXAMPLES = 8

# For a kernel's name: whether tensor cores do its work; None where the name does not say.
TensorCore = Callable[[str], bool | None]


class _Grouped(msgspec.Struct, frozen=True, eq=False):
    """Spans with the group each belongs to; `keys` names the groups."""

    tree: SpanTree
    group: Int64Array
    keys: tuple[tuple[str, str], ...]
    own_ns: FloatArray


class Operators:
    """Tables of operators, each made when first asked for.

    Args:
        facts: The measurements.
        tensor_core: Says for a kernel's name whether tensor cores do the work.
        concerns: For each rule with a finding the time that it concerns, best finding first.
    """

    def __init__(
        self,
        facts: Facts,
        tensor_core: TensorCore | None = None,
        concerns: Mapping[str, Concern] | None = None,
    ) -> None:
        self._facts = facts
        self._concerns = concerns or {}
        self._tensor_core = tensor_core or (lambda name: None)
        self._steps = max(facts.steps.count, 1)
        self._made: dict[Group, tuple[OperatorRow, ...]] = {}
        self._groups: dict[Group, _Grouped] = {}

    @property
    def has_shapes(self) -> bool:
        """Whether shapes were recorded."""
        return bool(self._facts.trace.ops["input_dims"].notna().any())

    def rows(self, group: Group) -> tuple[OperatorRow, ...]:
        """All rows of a group, the largest share first; modules each before those it calls."""
        if group == "module" and group not in self._made:
            self._made[group] = tuple(self._module_rows())
        elif group not in self._made:
            rows = self._kernel_rows() if group == "kernel" else self._host_rows(self._grouped(group))
            self._made[group] = tuple(sorted(rows, key=lambda row: (-row.share, -(row.host_ns or 0), row.name)))
        return self._made[group]

    @cached_property
    def _work(self) -> pd.DataFrame:
        """Device work of the used steps: name, tensor (1, 0 or NaN) and the row of the op that launched it, or -1."""
        facts = self._facts
        work = facts.device.work
        work = work[facts.steps.window.contains(work["start_ns"].to_numpy())]
        # By the codes of the categories: names of half a million events as text would hold up the screen.
        kernels, copies = (frame["name"].cat for frame in (facts.trace.kernels, facts.trace.copies))
        known_as, distinct = pd.factorize(np.concatenate([kernels.categories, copies.categories]).astype(object))
        codes = np.zeros(len(work), dtype=np.int64)
        for source, names, first in (("kernels", kernels, 0), ("copies", copies, len(kernels.categories))):
            mine = (work["source"] == source).to_numpy()
            codes[mine] = known_as[first + names.codes.to_numpy()[work["row"].to_numpy()[mine]].astype(np.int64)]
        tensor = np.array([np.nan if (core := self._tensor_core(str(name))) is None else core for name in distinct])
        launched = facts.device.launched.reindex(work.index)
        known = present(launched["launch_start_ns"])
        op = np.full(len(work), -1, dtype=np.int64)
        op[known] = innermost(
            facts.trace.ops,
            launched["launch_thread"].to_numpy()[known].astype(np.int64),
            launched["launch_start_ns"].to_numpy()[known].astype(np.int64),
        )
        return work.assign(
            name=pd.Categorical.from_codes(codes, pd.Index(distinct, dtype=object)),
            tensor=tensor.astype(np.float64)[codes] if len(work) else np.empty(0),
            op=op,
        )

    @cached_property
    def _ops(self) -> SpanTree:
        return SpanTree.of(self._facts.trace.ops)

    def _grouped(self, group: Group) -> _Grouped:
        if group not in self._groups:
            self._groups[group] = self._by_module() if group == "module" else self._by_op(shapes=group == "shape")
        return self._groups[group]

    def _by_op(self, *, shapes: bool) -> _Grouped:
        ops = self._facts.trace.ops
        names, dims = ops["name"].cat, ops["input_dims"].cat
        # One number for name and shape; without a shape the latter counts as 0.
        texts = ["", *dims.categories.astype(str)] if shapes else [""]
        pair = names.codes.to_numpy().astype(np.int64) * len(texts)
        pair += dims.codes.to_numpy().astype(np.int64) + 1 if shapes else 0
        codes, distinct = pd.factorize(pair)
        keys = tuple((str(names.categories[one // len(texts)]), texts[one % len(texts)]) for one in distinct.tolist())
        own = np.zeros(len(ops))
        launched = self._work[self._work["op"] >= 0]
        np.add.at(own, launched["op"].to_numpy(), launched["dur_ns"].to_numpy())
        return _Grouped(self._ops, codes.astype(np.int64), keys, own)

    def _by_module(self) -> _Grouped:
        found = self._facts.model.modules
        modules = found.spans
        codes, keys = pd.factorize(modules["name"].to_numpy()) if len(modules) else (np.empty(0, int), ())
        own = np.zeros(len(modules))
        if len(modules):
            launched = self._work[self._work["op"] >= 0]
            node = found.of_op[launched["op"].to_numpy()]
            np.add.at(own, node[node >= 0], launched["dur_ns"].to_numpy()[node >= 0])
        return _Grouped(SpanTree.of(modules), codes.astype(np.int64), tuple((str(key), "") for key in keys), own)

    def _module_rows(self) -> list[OperatorRow]:
        """Forward and backward together, as the tree of modules has them."""
        found = self._facts.model.modules.rows
        own = [row.self_kernel_ns for row in found]
        own = own if any(own) else [row.self_ns for row in found]
        whole = max(sum(own), 1)
        return [
            OperatorRow(
                name=row.path[-1], shape="", calls=row.calls / self._steps, self_host_ns=self._mean(row.self_ns),
                host_ns=self._mean(row.forward_ns + row.backward_ns), self_device_ns=self._mean(row.self_kernel_ns),
                device_ns=self._mean(row.forward_kernel_ns + row.backward_kernel_ns), share=mine / whole,
                tensor_core_ratio=None, depth=len(row.path) - 1,
            )
            for row, mine in zip(found, own, strict=True)
        ]  # fmt: skip

    def _host_rows(self, grouped: _Grouped) -> list[OperatorRow]:
        tree, code, count = grouped.tree, grouped.group, len(grouped.keys)
        inside = self._facts.steps.host_window.contains(tree.start_ns)
        outer = inside & ~tree.inside_equal(code)
        device = tree.accumulated(grouped.own_ns)
        sums = {
            "calls": np.bincount(code[inside], minlength=count),
            "self_host": np.bincount(code[inside], tree.self_ns[inside], count),
            "host": np.bincount(code[outer], tree.dur_ns[outer], count),
            "self_device": np.bincount(code[inside], grouped.own_ns[inside], count),
            "device": np.bincount(code[outer], device[outer], count),
        }
        tensor = self._tensor_ratios(grouped, outer)
        own = sums["self_device"] if sums["self_device"].any() else sums["self_host"]
        share = own / max(own.sum(), 1.0)
        findings = rules_of(self._concerns, self._host_part(grouped, outer), self._device_part(code, count))
        return [
            OperatorRow(
                name=name, shape=shape, calls=float(sums["calls"][i]) / self._steps,
                self_host_ns=self._mean(sums["self_host"][i]), host_ns=self._mean(sums["host"][i]),
                self_device_ns=self._mean(sums["self_device"][i]), device_ns=self._mean(sums["device"][i]),
                share=float(share[i]), tensor_core_ratio=None if np.isnan(tensor[i]) else float(tensor[i]),
                findings=findings(i),
            )
            for i, (name, shape) in enumerate(grouped.keys)
            if sums["calls"][i]
        ]  # fmt: skip

    def _host_part(self, grouped: _Grouped, rows: BoolArray) -> Part:
        tree, count = grouped.tree, len(grouped.keys)
        # Without a device ops are what gets shorter.
        own = np.full(int(rows.sum()), self._facts.device.main is None)
        return Part(grouped.group[rows], count, tree.start_ns[rows], tree.dur_ns[rows], own)

    def _device_part(self, group: Int64Array, count: int) -> Part:
        work = self._work[self._work["op"] >= 0]
        return self._work_part(work, group[work["op"].to_numpy()], count)

    def _kernel_part(self, names: pd.Index) -> Part:
        work = self._work
        group = names.get_indexer(work["name"].cat.categories)[work["name"].cat.codes.to_numpy()]
        return self._work_part(work, group.astype(np.int64), len(names))

    @staticmethod
    def _work_part(work: pd.DataFrame, group: Int64Array, count: int) -> Part:
        # Collectives and copies between host and device run beside what gets shorter.
        own = is_any(work["kind"], "compute", "memset") | matching(work["name"], lambda name: "DtoD" in name)
        return Part(group, count, work["start_ns"].to_numpy(), work["dur_ns"].to_numpy(), own)

    def _tensor_ratios(self, grouped: _Grouped, outer: npt.NDArray[np.bool_]) -> FloatArray:
        work = self._work[(self._work["op"] >= 0) & self._work["tensor"].notna()]
        totals = []
        for weight in (work["dur_ns"] * work["tensor"], work["dur_ns"]):
            own = np.zeros(len(grouped.group))
            np.add.at(own, work["op"].to_numpy(), weight.to_numpy())
            inclusive = grouped.tree.accumulated(own)
            totals.append(np.bincount(grouped.group[outer], inclusive[outer], len(grouped.keys)))
        with np.errstate(invalid="ignore"):
            ratios: FloatArray = totals[0] / np.where(totals[1] > 0, totals[1], np.nan)
        return ratios

    def _kernel_rows(self) -> list[OperatorRow]:
        frame = self._work.groupby("name", sort=False, observed=True).agg(
            calls=("dur_ns", "size"), device=("dur_ns", "sum"), tensor=("tensor", "first")
        )
        whole = max(int(frame["device"].sum()), 1)
        findings = rules_of(self._concerns, self._kernel_part(frame.index))
        return [
            OperatorRow(
                name=str(name), shape="", calls=calls / self._steps, self_host_ns=None, host_ns=None,
                self_device_ns=self._mean(device), device_ns=self._mean(device), share=device / whole,
                tensor_core_ratio=None if np.isnan(tensor) else float(tensor), findings=findings(place),
            )
            for place, (name, calls, device, tensor) in enumerate(zip(
                frame.index.tolist(), frame["calls"].tolist(), frame["device"].tolist(), frame["tensor"].tolist(), strict=True
            ))
        ]  # fmt: skip

    def _mean(self, total: float) -> int:
        return int(total / self._steps)

    def detail(self, group: Group, row: OperatorRow) -> OperatorDetail:
        """What is around a row: callers, callees (for a kernel: the ops that launch it) and the longest calls."""
        if group == "kernel":
            return self._kernel_detail(row)
        grouped = self._grouped(group)
        tree = grouped.tree
        names = np.array([name for name, _ in grouped.keys], dtype=object)[grouped.group]
        mine = grouped.group == grouped.keys.index((row.name, row.shape))
        mine &= self._facts.steps.host_window.contains(tree.start_ns)
        device = tree.accumulated(grouped.own_ns)
        rows = np.flatnonzero(mine)
        nested = rows[~tree.is_root[rows]]
        callers = self._neighbours(names[tree.parent[nested]], tree.dur_ns[nested], device[nested])
        children = np.flatnonzero(mine[tree.parent] & ~tree.is_root)
        callees = self._neighbours(names[children], tree.dur_ns[children], device[children])
        longest = rows[np.argsort(-tree.dur_ns[rows], kind="stable")][:MOST_EXAMPLES]
        texts = ["" for _ in longest]
        if group != "module":
            dims = self._facts.trace.ops["input_dims"].iloc[longest]
            texts = dims.astype("object").where(dims.notna(), "").tolist()
        return OperatorDetail(
            row, callers, callees, self._examples("host_start_ns", tree.start_ns[longest], tree.dur_ns[longest], texts)
        )

    def _kernel_detail(self, row: OperatorRow) -> OperatorDetail:
        work = self._work[self._work["name"] == row.name]
        launched = work[work["op"] >= 0]
        ops = self._facts.trace.ops
        names = ops["name"].astype("str").to_numpy()[launched["op"].to_numpy()]
        device = launched["dur_ns"].to_numpy()
        callers = self._neighbours(names, ops["dur_ns"].to_numpy()[launched["op"].to_numpy()], device)
        longest = work.sort_values("dur_ns", ascending=False, kind="stable")[:MOST_EXAMPLES]
        texts = [f"stream {stream}" for stream in longest["stream"].tolist()]
        examples = self._examples("start_ns", longest["start_ns"].to_numpy(), longest["dur_ns"].to_numpy(), texts)
        return OperatorDetail(row, callers, (), examples)

    def _neighbours(
        self, names: npt.NDArray[np.object_], host: npt.ArrayLike, device: npt.ArrayLike
    ) -> tuple[Neighbour, ...]:
        frame = pd.DataFrame({"name": names, "host": np.asarray(host), "device": np.asarray(device)})
        sums = frame.groupby("name", sort=True, observed=True).agg(
            calls=("host", "size"), host=("host", "sum"), device=("device", "sum")
        )
        sums = sums.sort_values(["device", "host"], ascending=False, kind="stable")[:MOST_NEIGHBOURS]
        return tuple(
            Neighbour(str(name), calls / self._steps, self._mean(host_ns), self._mean(device_ns))
            for name, (calls, host_ns, device_ns) in zip(sums.index.tolist(), sums.to_numpy().tolist(), strict=True)
        )

    def _examples(self, border: str, start: Int64Array, dur: Int64Array, texts: list[str]) -> tuple[Example, ...]:
        used = self._facts.steps.used
        starts, numbers = used[border].to_numpy(), used["number"].to_numpy()
        place = np.maximum(np.searchsorted(starts, start, side="right") - 1, 0)
        return tuple(
            Example(int(numbers[at]), int(begin - starts[at]), int(length), str(text))
            for at, begin, length, text in zip(place.tolist(), start.tolist(), dur.tolist(), texts, strict=True)
        )
