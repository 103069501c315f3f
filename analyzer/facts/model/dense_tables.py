"""Gradients as large as the table of an embedding of which a batch looks up few rows, and what passes over such a table.

The gradient of a lookup is a table of zeros into which the rows of the batch are added, unless the module was made with
`sparse=True`. Whatever reads the gradient, the optimizer before all, then reads all rows. Shapes tell tables apart; without them
`analyzer.facts.model.timed_tables` tells by time what filling takes beside looking up.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.precision import decoded_list, tensor_dims
from analyzer.facts.model.optimizing import Optimizing
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.moments import last_before
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node

# Ops that make a dense gradient.
DENSE = ("aten::embedding_dense_backward", "aten::_embedding_bag_dense_backward")
_LOOKUP = Pattern(r"aten::_?embedding|Embedding(?:Bag)?Backward\d*$")
_PRODUCT = Pattern(r"aten::(?:linear|matmul|mm|addmm|bmm|baddbmm|t|mv|einsum)$")
_ZEROED = ("aten::zero_", "aten::_foreach_zero_")
# How autograd adds gradients up.
_SUMS = ("aten::add", "aten::add_")
_LISTS = Pattern(r"(?:aten::)?_(?:foreach|fused)_\w+")


class Pass(msgspec.Struct, frozen=True):
    """Ops that read or write tables of one shape.

    Args:
        spans: When the host runs them.
        ratio: Share of what they read that is of such a table; below 1 where others are in the same list.
    """

    spans: IntervalSet
    ratio: float


class DenseTable(msgspec.Struct, frozen=True):
    """The tables of one shape whose gradients are dense, in the used steps.

    Args:
        rows: Rows of one.
        width: Numbers in a row.
        tables: How many such tables an update moves, at least.
        looked_up: Rows looked up in all of them between two updates, at most: each index may name another row.
        gradients: When the ops run that make the gradient.
        fills: When those of them run that fill it with zeros.
        updates: Passes inside the optimizer's step.
        others: Passes outside it: where gradients are added up, clipped, scaled or zeroed.
        passes: How many ops of an optimizer's step read such a table.
        used_by: An op of the forward pass that reads such a table and looks up no rows, so that its gradient is dense; None without
            one.
    """

    rows: int
    width: int
    tables: int
    looked_up: float
    gradients: IntervalSet
    fills: IntervalSet
    updates: tuple[Pass, ...]
    others: tuple[Pass, ...]
    passes: float
    used_by: str | None

    @property
    def touched_ratio(self) -> float:
        """Share of the rows that an update has gradients for, at most."""
        return min(1.0, self.looked_up / (self.rows * self.tables))


class DenseTables(msgspec.Struct, frozen=True):
    """All of them.

    Args:
        calls: Dense gradients made in the used steps.
        found: Those whose shapes are known, by shape.
        lists_hidden: Whether the optimizer passes over lists of tensors of which no shapes were recorded.
    """

    calls: int
    found: tuple[DenseTable, ...]
    lists_hidden: bool


def dense_tables(host: HostFacts, steps: Steps, optimizing: Optimizing) -> DenseTables:
    """Finds dense gradients of lookups.

    Args:
        host: Ops.
        steps: The steps.
        optimizing: The optimizer's spans.
    """
    tree = host.ops
    inside = steps.host_window.contains(tree.ops["start_ns"].to_numpy())
    made = is_any(tree.ops["name"], *DENSE)
    made = tree.outermost(made) & inside
    if not made.any():
        return DenseTables(0, (), lists_hidden=False)
    looking = _Looking(host, steps, optimizing, made, inside)
    found = tuple(looking.table(shape) for shape in sorted(set(looking.shapes.values())))
    hidden = looking.lists.any() and not any(table.updates for table in found)
    return DenseTables(int(made.sum()), found, lists_hidden=bool(hidden))


class _Looking:
    """What is the same for all shapes."""

    def __init__(
        self, host: HostFacts, steps: Steps, optimizing: Optimizing, made: BoolArray, inside: BoolArray
    ) -> None:
        self.tree, self.made, self.inside = host.ops, made, inside
        self.ops = self.tree.ops
        self.start, self.end = self.ops["start_ns"].to_numpy(), self.ops["end_ns"].to_numpy()
        self.dims, self.codes = distinct_texts(self.ops["input_dims"]), codes_of(self.ops["input_dims"])
        self.updating = optimizing.step_time.contains(self.start)
        self.updates = max(len(optimizing.spans), 1)
        # Of accumulated gradients, and of a program with two optimizers, the larger part of the rows: rather too many.
        self.rounds = max(min(len(optimizing.spans), steps.count), 1)
        self.lookup = self.tree.nearest(self.tree.named(lambda name: _LOOKUP.match(name) is not None)) != NONE
        self.lists = self.tree.named(lambda name: _LISTS.match(name) is not None) & self.updating & inside
        self.fills = self.tree.named("aten::zero_".__eq__)
        self.owner = self.tree.nearest(made)
        self.shapes = self._shapes()
        self.forward = self._forward(optimizing)

    def _shapes(self) -> dict[int, tuple[int, int]]:
        """The table of each dense gradient, by row: what is filled with zeros inside."""
        found: dict[int, tuple[int, int]] = {}
        for row in np.flatnonzero(self.fills & (self.owner != NONE)).tolist():
            shape = next(iter(self._arguments(row)), [])
            if len(shape) == 2 and min(shape) > 0:
                found.setdefault(int(self.owner[row]), (shape[0], shape[1]))
        return found

    def _arguments(self, row: int) -> list[list[int]]:
        return tensor_dims(self.dims[self.codes[row]]) if self.codes[row] != NONE else []

    def _forward(self, optimizing: Optimizing) -> BoolArray:
        """Ops between an update and the next gradient that autograd records and that fill nothing; shape (ops,)."""
        last = last_before(np.sort(self.end[self.made]), self.start, "right")
        updated = last_before(np.sort(optimizing.spans["end_ns"].to_numpy()), self.start, "right")
        recorded = present(self.ops["sequence"]) & ~is_any(self.ops["name"], *_ZEROED)
        forward: BoolArray = recorded & (updated >= last) & ~self.tree.named(is_backward_node) & ~self.updating
        return forward

    def table(self, shape: tuple[int, int]) -> DenseTable:
        """What is known of the tables of one shape."""
        share = self._share(shape)
        reads = (share > 0) & self.inside & ~self.lookup
        turned = matching(self.ops["input_dims"], lambda text: f"[{shape[1]}, {shape[0]}]" in text)
        multiplied = (reads | (turned & self.inside)) & self.tree.named(lambda name: _PRODUCT.match(name) is not None)
        elsewhere = np.flatnonzero(multiplied | (reads & self.forward))
        passing = self.tree.outermost(reads)
        calls = np.array([row for row, of in self.shapes.items() if of == shape], dtype=np.int64)
        mine = np.zeros(len(self.ops), dtype=np.bool_)
        mine[calls] = True
        tables = self._tables(shape, calls, passing)
        return DenseTable(
            rows=shape[0],
            width=shape[1],
            tables=tables,
            looked_up=sum(self._indices(row) for row in calls.tolist()) / self.rounds,
            gradients=self._spans(mine),
            fills=self._spans(self.fills & pick(mine, self.owner)),
            updates=self._passes(passing & self.updating, share),
            others=self._passes(passing & ~self.updating, share),
            passes=self._in_an_update(share[passing & self.updating], tables),
            used_by=str(self.ops["name"].iloc[elsewhere[0]]) if len(elsewhere) else None,
        )

    def _tables(self, shape: tuple[int, int], calls: Int64Array, passing: BoolArray) -> int:
        """How many tables share the shape; one that is looked up several times has as many gradients.

        An update runs each of its ops once for a table or more often, or once for a list of them. Where its lists hide their
        shapes, gradients that are added up to one of that shape tell those of one table.
        """
        rows = np.flatnonzero(passing & self.updating)
        if len(rows):
            held = np.array([_count(dims, list(shape)) for dims in self.dims], dtype=np.int64)[self.codes[rows]]
            names = codes_of(self.ops["name"])[rows]
            found = min(int(held[names == name].sum()) for name in np.unique(names).tolist())
        else:
            found = len(calls) - int(np.count_nonzero(passing & is_any(self.ops["name"], *_SUMS)))
        return min(max(round(found / self.rounds), 1), max(len(calls), 1))

    def _in_an_update(self, shares: FloatArray, tables: int) -> float:
        """How many passes an update makes over one table: a list holds all tables.

        Passes are counted before they are divided: six sixths added up are more than one.
        """
        lists = int(np.count_nonzero(shares < 1))
        return (lists + (len(shares) - lists) / tables) / self.updates

    def _indices(self, row: int) -> int:
        shapes = self._arguments(row)
        return math.prod(shapes[1]) if len(shapes) > 1 else 0

    def _share(self, shape: tuple[int, int]) -> FloatArray:
        """Which part of its first argument with such a table each op spends on it; 0 without one. Shape (ops,)."""
        text = f"[{shape[0]}, {shape[1]}]"
        shares = [_part(dims, list(shape)) if text in dims else 0.0 for dims in self.dims]
        found: FloatArray = np.array([*shares, 0.0])[self.codes]
        return found

    def _spans(self, rows: BoolArray) -> IntervalSet:
        return IntervalSet(self.start[rows], self.end[rows])

    def _passes(self, rows: BoolArray, share: FloatArray) -> tuple[Pass, ...]:
        return tuple(
            Pass(self._spans(rows & (share == ratio)), float(ratio)) for ratio in np.unique(share[rows]).tolist()
        )


def _part(dims: str, shape: list[int]) -> float:
    """1 where an argument has this shape; else its part of the numbers in the first list of tensors that has one of it."""
    for argument in decoded_list(dims):
        if argument == shape:
            return 1.0
        if isinstance(argument, list) and shape in argument:
            sizes = [math.prod(each) for each in argument if isinstance(each, list)]
            return argument.count(shape) * math.prod(shape) / sum(sizes)
    return 0.0


def _count(dims: str, shape: list[int]) -> int:
    """How many tables of this shape an op passes over: its lists of tensors have one place for each."""
    arguments = decoded_list(dims)
    if shape in arguments:
        return 1
    return next(
        (argument.count(shape) for argument in arguments if isinstance(argument, list) and shape in argument), 0
    )
