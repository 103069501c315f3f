"""Optimizers that take turns: which of their steps end a step of the loop.

A GAN updates its discriminator, then its generator; a critic may take five steps to one of the generator. Each is a part of what
repeats. The trace names an optimizer by its class only, so that two of one class are told apart by what they do: the ops inside
their steps, or the parameters that the backward pass before them brings gradients for.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import numbered, rows_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from traces.reader.names.vocabulary import accumulates_gradient, is_backward_node
from traces.trace import Trace

# A critic takes up to five steps to one of the generator (WGAN). One that comes more often in a row does not take turns: the other
# is a rare guest of a loop whose steps are alike without it.
MOST_IN_A_ROW = 8
# A generator, a discriminator, an encoder and a critic of its own: more kinds than this are one optimizer whose work varies.
_MOST_OPTIMIZERS = 4
# An optimizer for each layer of a large model.
_MOST_TOGETHER = 128
# What comes once is a first update, which makes the optimizer's states.
_MIN_TURNS = 2
# Rounds that are alike, of all: a regularisation now and then makes some longer. Of updates that vary by chance a quarter are.
_ALIKE_RATIO = 0.75
# Odd numbers without pattern: the ops of different updates do not add up to the same by chance.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint64(0xBF58476D1CE4E5B9)


def ends_of_rounds(trace: Trace, spans: pd.DataFrame) -> Int64Array | None:
    """Rows of the optimizers' steps that end a round of turns, however few; None where none take turns.

    Args:
        trace: The trace.
        spans: Steps of optimizers on one thread, sorted, none inside another.
    """
    if len(spans) < 2 * _MIN_TURNS or _has_a_batch_each(trace, spans):
        return None
    found = _rounds(_by_ops(trace, spans))
    return _rounds(_by_gradients(trace, spans)) if found is None else found


def outermost_steps(trace: Trace) -> pd.DataFrame:
    """Steps of optimizers on the thread that takes most of them, without those inside another one: a wrapper's is one.

    Those that follow one another without gradients of their own are one: a loop with an optimizer for each group of parameters.
    """
    spans = trace.annotations[is_any(trace.annotations["kind"], "optimizer_step")]
    nodes = trace.ops[matching(trace.ops["name"], is_backward_node)]
    spans = spans[~_inside(spans, nodes)]
    if not len(spans):
        return spans
    mine = max(rows_by(spans["thread"].to_numpy()).values(), key=len)
    spans = spans.iloc[mine].sort_values(["start_ns", "end_ns"], ascending=[True, False], kind="stable")
    before = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, spans["end_ns"].to_numpy()[:-1]))
    return _together(trace, spans[spans["start_ns"].to_numpy() >= before], nodes["start_ns"].to_numpy())


def _inside(spans: pd.DataFrame, nodes: pd.DataFrame) -> BoolArray:
    """Which steps lie in a node of the backward pass: each updates one parameter as soon as its gradient is there (hooks)."""
    found = np.zeros(len(spans), dtype=bool)
    start, thread = spans["start_ns"].to_numpy(), spans["thread"].to_numpy()
    begun, beyond, by = (nodes[name].to_numpy() for name in ("start_ns", "end_ns", "thread"))
    for one in np.unique(thread).tolist():
        here = by == one
        found[thread == one] = IntervalSet(begun[here], beyond[here]).contains(start[thread == one])
    return found


def _together(trace: Trace, spans: pd.DataFrame, nodes: Int64Array) -> pd.DataFrame:
    """One row for steps between which no gradient is computed and no batch is loaded; as given where no gradient is recorded.

    Args:
        trace: The trace.
        spans: Steps of optimizers on one thread, sorted.
        nodes: When nodes of the backward pass begin.
    """
    if not len(nodes) or len(spans) < _MIN_TURNS:
        return spans
    start, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    asked = trace.annotations["start_ns"].to_numpy()[is_any(trace.annotations["kind"], "loader")]
    between = np.sort(np.concatenate([nodes, asked]))
    apart = np.searchsorted(between, start[1:]) > np.searchsorted(between, end[:-1])
    first = np.flatnonzero(np.append(True, apart))
    # Steps of which hardly any has gradients before it: the backward pass was not recorded whole, and tells nothing.
    if len(first) < _MIN_TURNS or len(spans) > _MOST_TOGETHER * len(first):
        return spans
    ends = np.append(first[1:], len(spans)) - 1
    return spans.iloc[first].assign(end_ns=end[ends], dur_ns=end[ends] - start[first])


def _rounds(kinds: Int64Array) -> Int64Array | None:
    """Where turns come round: the last step before each turn of the one that leads; None where they do not."""
    begins = np.flatnonzero(np.append(True, kinds[1:] != kinds[:-1]))
    turns, runs = kinds[begins], np.diff(np.append(begins, len(kinds)))
    distinct, count = np.unique(turns, return_counts=True)
    usual = distinct[count >= _MIN_TURNS]
    if not 2 <= len(usual) <= _MOST_OPTIMIZERS or len(distinct) > 2 * len(usual) or runs.max() > MOST_IN_A_ROW:
        return None
    lead = turns[np.isin(turns, usual)][0]
    leading = begins[turns == lead]
    rounds = [kinds[first:beyond].tobytes() for first, beyond in pairwise(leading.tolist())]
    # The recording may begin inside the first.
    whole = rounds[1:] if len(rounds) > _MIN_TURNS else rounds
    if max((whole.count(one) for one in whole), default=0) < _ALIKE_RATIO * len(whole):
        return None
    ends = leading[leading > 0] - 1
    last = len(kinds) - 1
    # The last round is whole where it ends as the one before it does.
    return np.append(ends, last) if kinds[last] != lead and kinds[last] == kinds[ends[-1]] else ends


def _by_ops(trace: Trace, spans: pd.DataFrame) -> Int64Array:
    """A number for each step of an optimizer: equal where class and ops are, in whatever order; shape (steps,)."""
    ops = trace.ops
    start, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    at = ops["start_ns"].to_numpy()
    place = np.searchsorted(start, at, side="right") - 1
    inside = (place >= 0) & (at < end[place]) & (ops["thread"].to_numpy() == spans["thread"].to_numpy()[0])
    code = codes_of(ops["name"])[inside].astype(np.uint64)
    worth = (code + np.uint64(1)) * _BASE
    worth = (worth ^ (worth >> np.uint64(29))) * _SPREAD
    sums = np.zeros(len(spans), dtype=np.uint64)
    np.add.at(sums, place[inside], worth)
    return _kinds(spans, sums.astype(np.int64))


def _by_gradients(trace: Trace, spans: pd.DataFrame) -> Int64Array:
    """The same by class and by how many parameters got a gradient since the step before; shape (steps,)."""
    end = spans["end_ns"].to_numpy()
    at = trace.ops["start_ns"].to_numpy()[matching(trace.ops["name"], accumulates_gradient)]
    place = np.searchsorted(end, at, side="right")
    return _kinds(spans, np.bincount(place[place < len(end)], minlength=len(end)))


def _kinds(spans: pd.DataFrame, what: Int64Array) -> Int64Array:
    """Numbers that are equal where an optimizer's class and something else are."""
    names, classes = numbered(codes_of(spans["name"]).astype(np.int64))
    return numbered(what)[0] * classes + names


def _has_a_batch_each(trace: Trace, spans: pd.DataFrame) -> bool:
    """Whether the loader is asked before each of the steps: then each is a step of its own, of tasks that take turns."""
    asked = trace.annotations["start_ns"].to_numpy()[is_any(trace.annotations["kind"], "loader")]
    place = np.searchsorted(spans["end_ns"].to_numpy(), asked, side="right")
    return set(range(1, len(spans))) <= set(place.tolist())
