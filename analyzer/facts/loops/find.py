"""Loops of the program over tensors: the same few ops again and again under one parent.

What runs below the loader, the optimizer or a compiler is left out (other rules know it), and so is what repeats inside one op,
one node of the backward pass or what FSDP does with each unit, and what a library does in a collective on a thread of its own: that
loop is not the program's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.tree import HostTree
from analyzer.facts.loops.backward import BackwardTimes
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.products import PLAIN_PRODUCTS, none_of_another, of_two_vectors
from analyzer.facts.loops.sequence import sequence
from analyzer.facts.loops.values import most_values
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching
from analyzer.spans.pauses import long_pauses
from analyzer.spans.repeats import Runs, canonical, repeated_runs, shorter_runs, varying_runs
from analyzer.spans.usual import usual_ns
from traces.patterns import Pattern
from traces.trace import Trace

__all__ = ["Loop", "find_loops", "loop_of", "may_be_the_steps", "takes_elements"]

# Repetitions from which a run is a loop (torch's ForLoopIndexingPattern).
MIN_REPEATS = 10
# With a branch in it a loop is told by how few kinds of turns there are, which takes more of them.
MIN_VARYING_REPEATS = 20
# What a turn of such a loop begins with: one element of a tensor, or the mask of one class, sample or box: `target == c`.
_TURNS = ("aten::select", "aten::eq")
# Ops that take one element or a part of a tensor, and those that write one.
_INDEXING = Pattern(
    r"aten::(?:select|slice|narrow|index|index_select|index_put_?|_index_put_impl_|unbind|split|take|gather)$"
)
# One op that takes rows by an index of many: alone, again and again, it goes through tensors, and not through one.
_ROWS = Pattern(r"aten::(?:index_select|gather)$")
_SPLITTING = Pattern(r"aten::(?:unbind|split|split_with_sizes|chunk|tensor_split)$")
# Ops that make up layers: where a unit holds one, it is a layer of the model or a step in time, each of which needs the one before.
LAYER = Pattern(
    r"aten::(?:linear|addmm|mm|bmm|matmul|baddbmm|addmv|mv|einsum|bilinear|tensordot|conv\w*|_convolution|cudnn_\w+|miopen_\w+|mkldnn_\w+"
    r"|lstm\w*|gru\w*|rnn_\w+|_thnn_fused\w+|scaled_dot_product\w*|_scaled_dot\w*|_native_multi_head\w*|\w*layer_norm|\w*batch_norm"
    r"|\w*group_norm|\w*rms_norm|embedding\w*)$"
    # A compiled part of a model, run as one op (Torch-TensorRT, AOTInductor, Neuron).
    r"|(?:tensorrt|trt|neuron|aoti\w*)::\w*(?:execute|engine|forward|run)\w*$"
)
# An op of the backward pass under the engine, or of what DDP does with each gradient: both loops are the library's own, in C++.
_ENGINE = Pattern(r"(?:autograd|torch\.distributed\.ddp\.reducer)::")


def may_be_the_steps(steps: Steps, loop: Loop) -> bool:
    """Whether a trace without steps is nothing but this loop: beside it there is less than two of its turns."""
    if steps.source != "whole-trace" or not loop.repeats:
        return False
    return steps.total_ns - loop.spans.total_ns < 2 * loop.spans.total_ns / loop.repeats


def find_loops(trace: Trace, steps: Steps, host: HostFacts) -> tuple[Loop, ...]:
    """All loops in the used steps, longest first."""
    tree = host.tree
    rows, group = sequence(steps, tree, host)
    # Too few for any loop, with a branch or without.
    if len(rows) < min(MIN_REPEATS, MIN_VARYING_REPEATS):
        return ()
    codes = codes_of(tree.frame["name"])[rows].astype(np.int64)
    names = distinct_texts(tree.frame["name"])
    layers = matching(tree.frame["name"], LAYER.match) & tree.of_source("ops") & ~of_two_vectors(tree)
    runs = repeated_runs(codes, group, min_repeats=MIN_REPEATS)
    turns = [turn for turn in _TURNS if turn in names]
    if not len(runs) and not turns:
        return ()
    runs = Runs.joined([runs, shorter_runs(codes, group, runs, min_repeats=MIN_REPEATS)])
    runs = runs.at(np.argsort(runs.first, kind="stable"))
    for turn in turns:
        branching = _with_branches(codes, group, names, runs, turn, layers[rows])
        if len(branching):
            runs = Runs.joined([runs.at(~_inside(runs, branching)), branching])
    if not len(runs):
        return ()
    of_unit: dict[tuple[int, ...], list[int]] = {}
    for place in range(len(runs)):
        of_unit.setdefault(_key(codes, runs, place), []).append(place)
    backward = BackwardTimes(trace, steps, tree)
    start, end = (tree.frame[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    layer_starts = tree.frame["start_ns"].to_numpy()[layers]
    first, last = runs.first, runs.end - 1

    def phase_of(place: int) -> str:
        return _phase(layer_starts, steps, backward.starts, int(start[first[place]]), int(end[last[place]]))

    loops = []
    for phase, places in _joined(codes, runs, names, of_unit, phase_of):
        mine = runs.at(np.array(places))
        texts = tuple(names[code] for code in mine.unit(codes, 0))
        if not any(_ENGINE.match(text) for text in texts):
            loops.append(_loop(trace, steps, tree, rows, mine, texts, phase, backward, names, codes, layers[rows]))
    return tuple(sorted(loops, key=lambda loop: (-loop.spans.total_ns, loop.unit)))


def _key(codes: Int64Array, runs: Runs, place: int) -> tuple[int, ...]:
    """What makes runs the same loop: their unit; where turns differ, all ops in them, whichever turn is the commonest."""
    if runs.varies[place]:
        return (-1, *sorted(_ops_of(codes, runs, place)))
    return canonical(runs.unit(codes, place))


def _ops_of(codes: Int64Array, runs: Runs, place: int) -> set[int]:
    """The ops in a run."""
    first = runs.first[place]
    return set(codes[first : first + (runs.length if runs.varies[place] else runs.period)[place]].tolist())


def _joined(
    codes: Int64Array,
    runs: Runs,
    names: list[str],
    of_unit: dict[tuple[int, ...], list[int]],
    phase_of: Callable[[int], str],
) -> list[tuple[str, list[int]]]:
    """Places of runs by loop, and where in its step each loop lies: what a branch makes of one loop in some steps is no other one.

    A run without the branch, or without the rarest of several, has no other ops than a longer kind of the same loop, and begins
    its turns alike.
    """
    varies = runs.varies
    found: list[tuple[set[int], str, list[int]]] = []
    groups = [
        (set[int]().union(*(_ops_of(codes, runs, place) for place in places)), places) for places in of_unit.values()
    ]
    for ops, places in sorted(groups, key=lambda one: (not varies[one[1][0]], -len(one[0]), one[1][0])):
        phase, turns = phase_of(places[0]), names[codes[runs.first[places[0]]]] in _TURNS
        larger = [one for one in found if turns and one[1] == phase and ops <= one[0] and varies[one[2][0]]]
        if larger:
            larger[0][2].extend(places)
        else:
            found.append((ops, phase, list(places)))
    return [(phase, places) for _, phase, places in found]


def _with_branches(
    codes: Int64Array, group: Int64Array, names: list[str], runs: Runs, turn: str, layers: BoolArray
) -> Runs:
    """Loops through a tensor whose turns differ by a branch, beside the runs found already; none that hold a layer's op."""
    begins = np.array([name == turn for name in names], dtype=bool)[codes]
    found = varying_runs(codes, group, begins, min_repeats=MIN_VARYING_REPEATS)
    if not len(found):
        return found
    others = layers | np.array([_ENGINE.match(name) is not None for name in names], dtype=bool)[codes]
    before = np.concatenate([[0], np.cumsum(runs.cover(len(codes)) | others * len(codes))])
    return found.at(before[found.end] - before[found.first] <= found.length // 2)


def _inside(runs: Runs, larger: Runs) -> BoolArray:
    """Which runs are turns of a larger one that happen to be alike, shape (len(runs),)."""
    at = np.searchsorted(larger.first, runs.first, side="right") - 1
    held: BoolArray = (at >= 0) & (runs.end <= larger.end[np.maximum(at, 0)])
    return held


def loop_of(
    trace: Trace, steps: Steps, tree: HostTree, rows: Int64Array, codes: Int64Array, runs: Runs, backward: BackwardTimes
) -> Loop:
    """The loop that some runs of one unit are.

    Args:
        trace: The trace.
        steps: Its steps.
        tree: The host's spans.
        rows: Their rows, of the ops that the program calls.
        codes: Names of these, as codes, shape (rows,).
        runs: The runs.
        backward: What numbers join to the backward pass.
    """
    names = distinct_texts(tree.frame["name"])
    layers = matching(tree.frame["name"], LAYER.match) & tree.of_source("ops") & ~of_two_vectors(tree)
    frame, first, last = tree.frame, rows[runs.first[0]], rows[runs.end[0] - 1]
    begin, end = int(frame["start_ns"].iloc[first]), int(frame["end_ns"].iloc[last])
    phase = _phase(frame["start_ns"].to_numpy()[layers], steps, backward.starts, begin, end)
    texts = tuple(names[code] for code in runs.unit(codes, 0))
    return _loop(trace, steps, tree, rows, runs, texts, phase, backward, names, codes, layers[rows])


def _loop(
    trace: Trace,
    steps: Steps,
    tree: HostTree,
    rows: Int64Array,
    runs: Runs,
    unit: tuple[str, ...],
    phase: str,
    backward: BackwardTimes,
    names: list[str],
    codes: Int64Array,
    layers: BoolArray,
) -> Loop:
    first, length = runs.first, runs.length
    run = np.repeat(np.arange(len(first)), length)
    position = np.repeat(first - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    members = rows[position]
    start, end = tree.frame["start_ns"].to_numpy(), tree.frame["end_ns"].to_numpy()
    starts, ends = start[rows[first]], end[rows[runs.end - 1]]
    split = [names[codes[at - 1]] for at in first.tolist() if at > 0]
    indexing = np.array([_INDEXING.match(name) is not None for name in names], dtype=bool)
    varies = bool(runs.varies.any())
    some = (
        tuple(names[code] for code in dict.fromkeys(codes[position].tolist()) if names[code] not in unit)
        if varies
        else ()
    )
    return Loop(
        unit=unit,
        in_some_turns=some,
        independent=PLAIN_PRODUCTS.issuperset(unit) and none_of_another(trace.ops, tree, members),
        indexed=takes_elements(unit + some) or any(_SPLITTING.match(text) for text in split),
        of_layers=bool(layers[position].any()),
        phase=phase,
        repeats=int(runs.repeats.sum()),
        runs=len(runs),
        steps_seen=steps.count_of_host(starts),
        thread=int(tree.frame["thread"].to_numpy()[rows[first[0]]]),
        forward=IntervalSet(starts, ends) & steps.window,
        backward=backward.of(members, run),
        numbered=backward.numbered(members),
        ops=len(members),
        op_ns=int((end[members] - start[members]).sum()),
        pauses=long_pauses(start[rows], end[rows], first, length) & steps.window,
        usual_op_ns=usual_ns(codes[position], end[members] - start[members]),
        varies=varies,
        most_values=most_values(trace, tree, members, ~indexing[codes[position]]),
    )


def takes_elements(unit: tuple[str, ...]) -> bool:
    """Whether turns of these ops go through one tensor."""
    return any(_INDEXING.match(text) for text in unit) and not all(_ROWS.match(text) for text in unit)


def _phase(layers: Int64Array, steps: Steps, backward_starts: Int64Array, start_ns: int, end_ns: int) -> str:
    """Where in its step a run lies."""
    used = steps.used
    index = int(np.searchsorted(used["host_start_ns"].to_numpy(), start_ns, side="right")) - 1
    begin, stop = (int(used[name].to_numpy()[max(index, 0)]) for name in ("host_start_ns", "host_end_ns"))
    nodes = backward_starts[(backward_starts >= begin) & (backward_starts < stop)]
    if not len(nodes):
        return "step"
    if start_ns >= nodes[0]:
        return "after"
    layers = layers[(layers >= begin) & (layers < nodes[0])]
    if len(layers) and end_ns <= layers.min():
        return "before"
    return "loss" if len(layers) and start_ns >= layers.max() and end_ns <= nodes[0] else "forward"
