"""Text that is generated without a cache: each run of the model reads all tokens again, one more than the run before.

A lookup of tokens says how many a run reads. Runs of one table, each with one token more and as many texts, are a text that grows.
That the layers work on all of them, the rows of their products say: tables of relative positions grow beside a cache as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.stretches import stretches

_LOOKUP = "aten::embedding"
_PRODUCTS = ("aten::linear", "aten::matmul", "aten::addmm", "aten::mm")
# Fewer in a row may be texts that happen to differ by one token.
_FEWEST_RUNS = 8
# A run may begin before the recording of its products does.
_MOST = 0.9
# A slope that is two standard errors larger than the one measured is beaten by chance once in forty times.
_ERRORS = 2


class Growing(msgspec.Struct, frozen=True, eq=False):
    """Runs of the model that read a growing text, in the used steps.

    Args:
        lookups: Lookups of any tokens.
        shapes: Whether it is recorded of how many.
        spans: From each run's lookup to the next one's.
        tokens: Tokens of a text in each run, shape (runs,).
        took_ns: How long each run takes, shape (runs,).
        longer_ns: How much longer a run takes for one token more, of each two runs half a text apart, shape (pairs,); some may be
            negative: neighbours differ by noise.
    """

    lookups: int
    shapes: bool
    spans: IntervalSet = EMPTY
    tokens: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    took_ns: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    longer_ns: FloatArray = msgspec.field(default_factory=lambda: np.zeros(0))

    @property
    def token_ns(self) -> float:
        """How much longer a run takes for one token more: the median."""
        return float(np.median(self.longer_ns))

    @property
    def token_most_ns(self) -> float:
        """What it may be at most, for all that these runs tell: two standard errors of the median more.

        Of values spread as noise is, the median's error is pi / 2 times as large in its square as the mean's.
        """
        if len(self.longer_ns) < 2:
            return math.inf
        error = math.sqrt(math.pi / 2 / len(self.longer_ns)) * float(np.std(self.longer_ns, ddof=1))
        return self.token_ns + _ERRORS * error

    @property
    def again_ratio(self) -> float:
        """Share of all tokens that were read before, weighed by how long their run takes."""
        return float(self._shares_ns.sum() / max(self.took_ns.sum(), 1))

    @property
    def again_ns(self) -> int:
        """What the tokens take that were read before, as far as runs get longer by them; no more than their share of a run."""
        return self._again_ns(self.token_ns)

    @property
    def again_most_ns(self) -> int:
        """The same with the most that a token may take."""
        return self._again_ns(self.token_most_ns)

    def _again_ns(self, token_ns: float) -> int:
        longer = np.minimum(token_ns * (self.tokens - 1), self._shares_ns)
        return int(np.maximum(longer, 0.0).sum())

    @property
    def _shares_ns(self) -> FloatArray:
        """The share of each run that falls to tokens read before, if all take as long, shape (runs,)."""
        result: FloatArray = self.took_ns * (1 - 1 / np.maximum(self.tokens, 1))
        return result


def growing(host: HostFacts, steps: Steps) -> Growing:
    """Finds the text that grows for the longest.

    Args:
        host: Ops.
        steps: The steps.
    """
    ops = host.ops.ops
    start = ops["start_ns"].to_numpy()
    # Torch 1.8 writes each op twice, one in the other.
    lookups = host.ops.outermost(host.ops.named(_LOOKUP.__eq__)) & steps.host_window.contains(start)
    rows = np.flatnonzero(lookups)
    codes = codes_of(ops["input_dims"])[rows]
    if not (codes >= 0).any():
        return Growing(len(rows), shapes=False)
    shapes = [tensor_dims(text) for text in distinct_texts(ops["input_dims"])]
    products = _Products(ops, shapes)
    by_table: dict[tuple[int, tuple[int, ...]], list[tuple[int, int, int]]] = {}
    for at, code, thread in zip(
        start[rows].tolist(), codes.tolist(), ops["thread"].to_numpy()[rows].tolist(), strict=True
    ):
        said = shapes[code] if code >= 0 else []
        by_table.setdefault((thread, tuple(said[0]) if said else ()), []).append((at, *_read(said)))
    best = Growing(len(rows), shapes=True)
    for read in by_table.values():
        found = _of_one_table(read, len(rows), products)
        if found is not None and found.took_ns.sum() > best.took_ns.sum():
            best = found
    return best


class _Products:
    """Rows of the first matrix of each product, by when it begins."""

    def __init__(self, ops: pd.DataFrame, shapes: list[list[list[int]]]) -> None:
        mine = np.flatnonzero(is_any(ops["name"], *_PRODUCTS) & (codes_of(ops["input_dims"]) >= 0))
        names, name = distinct_texts(ops["name"]), codes_of(ops["name"])[mine].tolist()
        order = np.argsort(ops["start_ns"].to_numpy()[mine], kind="stable")
        self.start: Int64Array = ops["start_ns"].to_numpy()[mine][order]
        rows = [
            _rows(shapes[code], names[which] == "aten::addmm")
            for code, which in zip(codes_of(ops["input_dims"])[mine].tolist(), name, strict=True)
        ]
        self.rows: Int64Array = np.array(rows, dtype=np.int64)[order]

    def have(self, begin_ns: int, end_ns: int, rows: int) -> bool:
        """Whether a product of so many rows begins in a span."""
        first, last = np.searchsorted(self.start, (begin_ns, end_ns))
        return bool((self.rows[first:last] == rows).any())


def _rows(shapes: list[list[int]], bias_first: bool) -> int:
    """Rows of the first matrix; 0 where it is none."""
    matrix = shapes[1] if bias_first and len(shapes) > 1 else shapes[0] if shapes else []
    size = math.prod(matrix[:-1]) if len(matrix) > 1 else 0
    # Sizes come from a file: a product that does not fit is no size.
    return size if 0 <= size < 2**62 else 0


def _read(shapes: list[list[int]]) -> tuple[int, int]:
    """Texts and tokens of a lookup; none where its indices are no text."""
    indices = shapes[1] if len(shapes) > 1 else []
    if len(indices) == 2:
        return indices[0], indices[1]
    return (1, indices[0]) if len(indices) == 1 else (0, 0)


def _of_one_table(read: list[tuple[int, int, int]], lookups: int, products: _Products) -> Growing | None:
    """The texts that grow by lookups in one table, each of which is stated by when it begins, its texts and its tokens."""
    begin, texts, tokens = np.array(sorted(read), dtype=np.int64).T
    grown = (tokens[1:] == tokens[:-1] + 1) & (texts[1:] == texts[:-1]) & (texts[1:] > 0)
    spans, lengths, took, slopes = [], [], [], []
    for first, last in _runs(grown):
        # The last one ends where nothing says: it is left out.
        at, until, each = begin[first:last], begin[first + 1 : last + 1], tokens[first:last]
        worked = [
            products.have(*place)
            for place in zip(at.tolist(), until.tolist(), (each * texts[first]).tolist(), strict=True)
        ]
        if np.mean(worked) < _MOST:
            continue
        spans.append(IntervalSet(at[:1], until[-1:]))
        lengths.append(each)
        took.append(until - at)
        slopes.append(_slopes(until - at))
    if not spans:
        return None
    return Growing(
        lookups=lookups,
        shapes=True,
        spans=IntervalSet.union(spans),
        tokens=np.concatenate(lengths),
        took_ns=np.concatenate(took),
        longer_ns=np.concatenate(slopes),
    )


def _runs(grown: BoolArray) -> Iterator[tuple[int, int]]:
    """First and last lookup of each row of lookups long enough, of which each has one token more than the one before."""
    for first, last in zip(*(edges.tolist() for edges in stretches(grown)), strict=True):
        if last - first >= _FEWEST_RUNS:
            yield first, last


def _slopes(took: Int64Array) -> FloatArray:
    """How much longer a run takes a token, by runs half of them apart: neighbours differ by noise."""
    apart = len(took) // 2
    result: FloatArray = (took[apart:] - took[: len(took) - apart]) / apart
    return result
