"""Heads of attention computed one after another, and joined with `cat` or `stack` behind the last.

A head takes what the one beside it takes, and hands nothing on to it. A stack of layers with attention in each adds what it was
given, or normalises; it ends with no `cat` of what all its layers gave. Layers without either, of which all are joined, look alike
unless shapes show that what a turn gives is narrower than what it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.tree import HostTree
from analyzer.facts.loops.backward import BackwardTimes
from analyzer.facts.loops.elements import shapes_of
from analyzer.facts.loops.find import loop_of
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.products import PRODUCTS
from analyzer.facts.loops.samples import usual_leaf_ns
from analyzer.facts.loops.sequence import sequence
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.repeats import Runs
from traces.patterns import Pattern
from traces.trace import Trace

# With two or three the way to their ops is little beside what they compute.
_FEWEST = 4
# Longest head looked for, in ops.
_LONGEST = 40
_JOINS = ("aten::cat", "aten::stack", "aten::concat")
_PRODUCT = Pattern(r"aten::(?:matmul|bmm|einsum|baddbmm)$")
_WEIGHTED = Pattern(r"aten::(?:softmax|_softmax)$")
_WHOLE = "aten::scaled_dot_product_attention"
# What a head is made of: products, what scales and masks scores, and views. An addition is of a mask or a bias by position, and
# stands before the softmax.
_OF_A_HEAD = Pattern(
    r"aten::(?:linear|matmul|bmm|einsum|baddbmm|softmax|_softmax|scaled_dot_product_attention|mul_?|div_?|true_divide|masked_fill_?"
    r"|where|eq|ne|bitwise_not|logical_not|tril|triu|ones|zeros|full|slice|select|narrow|chunk|split|dropout_?|feature_dropout|to"
    r"|expand|view|reshape|flatten|permute|transpose|transpose_|t|numpy_T|swapaxes|contiguous|unsqueeze|squeeze|unbind|alias|item"
    r"|sqrt|rsqrt|pow|lift_fresh|empty|native_dropout)$"
)
_ADDS = ("aten::add", "aten::add_")


class HeadLoop(msgspec.Struct, frozen=True):
    """One loop of that kind.

    Args:
        loop: The loop, a turn a head.
        heads: Turns of one run.
        projects: Whether each head has projections of its own.
        apart: Whether shapes show that no turn can take what another gives; False where none was recorded.
        products: When products are computed in it, of which all heads at once have as many to compute.
        usual_op_ns: Mean time of an op in the forward part that calls no other op, without those that took far longer.
    """

    loop: Loop
    heads: int
    projects: bool
    apart: bool
    products: IntervalSet
    usual_op_ns: float


def head_loops(trace: Trace, steps: Steps, host: HostFacts) -> tuple[HeadLoop, ...]:
    """Those loops of the used steps, longest first."""
    tree = host.tree
    names = distinct_texts(tree.frame["name"])
    if not any(name in _JOINS for name in names) or not any(name == _WHOLE or _WEIGHTED.match(name) for name in names):
        return ()
    rows, group = sequence(steps, tree, host)
    codes = codes_of(tree.frame["name"])[rows].astype(np.int64)
    of_unit: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for first, period, repeats in _runs(codes, group, names):
        of_unit.setdefault(tuple(codes[first : first + period].tolist()), []).append((first, period, repeats))
    if not of_unit:
        return ()
    products = IntervalSet.of_rows(trace.ops[trace.ops["name"].isin(PRODUCTS)])
    backward = BackwardTimes(trace, steps, tree)
    found = []
    for runs in of_unit.values():
        columns = np.array(runs, dtype=np.int64).T
        apart = _narrows(trace, tree, rows[runs[0][0] : runs[0][0] + runs[0][1]])
        if apart is False:
            continue
        loop = loop_of(trace, steps, tree, rows, codes, Runs.alike(*columns), backward)
        found.append(
            HeadLoop(
                loop,
                heads=int(np.median(columns[2])),
                projects="aten::linear" in loop.unit,
                apart=apart is True,
                products=products & loop.spans,
                usual_op_ns=usual_leaf_ns(tree, loop.forward),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.loop.spans.total_ns, one.loop.unit)))


def _narrows(trace: Trace, tree: HostTree, turn: Int64Array) -> bool | None:
    """Whether the values of a turn have another width than what its first layer or view takes; None where no shapes tell.

    Args:
        trace: The trace.
        tree: The host's spans.
        turn: Rows of one turn's ops there.
    """
    frame, ops = tree.frame, trace.ops
    names = frame["name"].take(turn).tolist()
    first = names.index("aten::linear") if "aten::linear" in names else 0
    last = max(place for place, name in enumerate(names) if name == _WHOLE or _PRODUCT.match(name))
    widths = []
    for place, argument in ((first, 0), (last, 2 if names[last] == _WHOLE else 1)):
        at = int(frame["start_ns"].iloc[turn[place]])
        row = np.flatnonzero((ops["start_ns"] == at).to_numpy() & (ops["name"] == names[place]).to_numpy())
        shapes = shapes_of(trace, int(row[0])) if len(row) else []
        if len(shapes) <= argument or not shapes[argument]:
            return None
        widths.append(shapes[argument][-1])
    return widths[0] != widths[1]


def _runs(codes: Int64Array, group: Int64Array, names: Sequence[str]) -> list[tuple[int, int, int]]:
    """Begin, length of a turn and number of turns of each row of heads."""
    joins = np.array([name in _JOINS for name in names], dtype=bool)
    allowed = np.array([name in _ADDS or _OF_A_HEAD.match(name) is not None for name in names], dtype=bool)[codes]
    found = []
    for end in np.flatnonzero(joins[codes]).tolist():
        begin = end
        while begin > 0 and allowed[begin - 1] and group[begin - 1] == group[end]:
            begin -= 1
        for period in range(2, min(_LONGEST, (end - begin) // _FEWEST) + 1):
            repeats = _repeats(codes, begin, end, period)
            if repeats >= _FEWEST:
                if _is_head([names[code] for code in codes[end - period : end].tolist()]):
                    found.append((end - repeats * period, period, repeats))
                break
    return found


def _repeats(codes: Int64Array, begin: int, end: int, period: int) -> int:
    """How often the last `period` ops before a place stand there in a row."""
    same = codes[begin : end - period] == codes[begin + period : end]
    different = np.flatnonzero(~same)
    return (len(same) - (int(different[-1]) + 1 if len(different) else 0)) // period + 1


def _is_head(unit: Sequence[str]) -> bool:
    """Whether a turn weighs values by what two products or one fused op say, and adds nothing behind that."""
    if unit.count(_WHOLE) == 1:
        return not any(name in _ADDS or _WEIGHTED.match(name) for name in unit)
    at = [place for place, name in enumerate(unit) if _WEIGHTED.match(name)]
    if len(at) != 1:
        return False
    before, behind = unit[: at[0]], unit[at[0] + 1 :]
    products = (any(_PRODUCT.match(name) for name in part) for part in (before, behind))
    return all(products) and sum(name in _ADDS for name in before) <= 1 and not any(name in _ADDS for name in behind)
