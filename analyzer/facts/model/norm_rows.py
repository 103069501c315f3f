"""Rows of norms, one for each tensor of a list outside the optimizer, and whether those tensors are gradients or not.

A norm of a gradient and one of a weight are the same op. What tells them apart stands around them: autograd numbers what it
records, and records no op on a gradient unless the backward pass itself is recorded; between zeroing and the next backward pass
there are no gradients; and what is scaled in place behind them, in front of the update, is clipped.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.model.before_updates import before_updates
from analyzer.facts.model.optimizer_spans import OptimizerSpans
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.moments import last_before
from analyzer.spans.pauses import long_pauses
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node

# What stands between norms that are of no whole tensors of a list: layers, of whose weights they are, as spectral norm takes them,
# or tensors made of rows, of each of which they are, as of a sample's gradient: no call takes those of all tensors at once.
_LAYER = r"aten::(?:conv\w*|_convolution|linear|addmm|b?mm|mv|matmul|embedding|lstm|gru)$"
_RESHAPED = r"aten::(?:reshape|view|_reshape_alias)$"
_NORM = r"aten::(?:linalg_vector_norm|norm|linalg_norm)$"
_SCALES = r"aten::(?:_foreach_)?(?:mul|div)_$"
_SCALES_A_LIST = r"aten::_foreach_(?:mul|div)_$"
_NODE_OF_NORM = Pattern(r"(?:autograd::engine.*\b)?\w*NormBackward\w*$")
# What holds of so many of the norms is said of all.
_NEARLY_ALL = 0.9
# Clipping scales every tensor that it takes the norm of; a program may leave out those of one group.
_SCALED = 0.5


class Norms(msgspec.Struct, frozen=True):
    """Rows of norms in the used steps.

    Args:
        time: Time of the rows; pauses between their ops are other work.
        number: How many norms are in them.
        of_gradients: Whether they are of gradients: True where these are scaled behind them, False where autograd records the
            norms, or no gradient is there yet; None where the trace does not tell.
        in_loss: Whether gradients go back through most of them.
        may_clip: Whether most stand between a backward pass and the update behind it, or no update says where it is.
    """

    time: IntervalSet
    number: int
    of_gradients: bool | None = None
    in_loss: bool = False
    may_clip: bool = True


def norms(measure: OptimizerSpans) -> Norms:
    """Finds rows of four norms or more outside optimizer and loader: as `clip_grad_norm_` takes them without foreach, or a log."""
    hidden = measure.in_steps | measure.tree.under(measure.range_of("loader"))
    seen = measure.topmost_ops & measure.inside & ~hidden
    rows = np.flatnonzero(measure.tree.matching(_NORM) & seen)
    if not len(rows):
        return Norms(EMPTY, 0)
    top = np.flatnonzero(seen)
    top = top[np.lexsort((measure.start[top], measure.tree.frame["thread"].to_numpy()[top]))]
    runs = measure.runs(top, 4)
    if not len(runs):
        return Norms(EMPTY, 0)
    first, length = runs.first, runs.length
    before = np.concatenate([[0], np.cumsum(np.isin(top, rows))])
    mine = before[first + length] - before[first] >= runs.repeats
    for other in (_LAYER, _RESHAPED):
        between = np.concatenate([[0], np.cumsum(measure.tree.matching(other)[top])])
        mine &= between[first + length] - between[first] < runs.repeats
    first, length = first[mine], length[mine]
    spans = IntervalSet(measure.start[top[first]], measure.end[top[first + length - 1]]) & measure.steps.window
    spans -= long_pauses(measure.start[top], measure.end[top], first, length)
    rows = rows[spans.contains(measure.start[rows])]
    return _told_apart(measure, spans, top, rows) if len(rows) else Norms(spans, 0)


def _told_apart(measure: OptimizerSpans, time: IntervalSet, top: Int64Array, rows: Int64Array) -> Norms:
    """What the tensors of these norms are.

    Args:
        measure: The optimizer's spans.
        time: Time of the rows.
        top: Topmost ops outside the optimizer and the loader, by thread and start.
        rows: The norms among them, in the same order.
    """
    nodes = matching(measure.trace.ops["name"], is_backward_node)
    at, updates = measure.start[rows], np.sort(measure.start[measure.innermost_steps])
    back = last_before(np.sort(measure.trace.ops["start_ns"].to_numpy()[nodes]), at)
    recorded = _recorded(measure, top, rows)
    # A backward pass that is recorded itself, for second derivatives, gives gradients that autograd goes on to record.
    others = recorded & (last_before(updates, at) > back)
    if recorded.any() and not _numbered_in_nodes(measure, nodes):
        others = recorded
    others |= _none_yet(measure, at, back)
    spans = measure.tree.frame.iloc[np.flatnonzero(measure.innermost_steps)]
    leading = before_updates(measure.trace, spans).contains(at)
    clipped = leading & _scaled_behind(measure, top, rows, updates) & ~others
    return Norms(
        time,
        len(rows),
        of_gradients=False if _nearly_all(others) else True if _nearly_all(clipped) else None,
        in_loss=_nearly_all(recorded & _gone_back_through(measure, rows)),
        may_clip=not len(updates) or bool(2 * np.count_nonzero(leading) >= len(rows)),
    )


def _nearly_all(found: BoolArray) -> bool:
    return bool(np.count_nonzero(found) >= _NEARLY_ALL * len(found))


def _sequences(measure: OptimizerSpans, rows: Int64Array) -> Int64Array:
    """Autograd's number of each op; -1 where it has none."""
    numbers: Int64Array = measure.trace.ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)[measure.tree.ops(rows)]
    return numbers


def _recorded(measure: OptimizerSpans, top: Int64Array, rows: Int64Array) -> BoolArray:
    """Whether autograd records a norm: the next op of the thread that has a number then has a higher one."""
    numbers, thread = _sequences(measure, top), measure.tree.frame["thread"].to_numpy()[top]
    own = np.flatnonzero(np.isin(top, rows))
    numbered = np.flatnonzero(numbers >= 0)
    place = np.searchsorted(numbered, own, side="right")
    # Of the last op of all nothing tells it.
    told = place < len(numbered)
    found = np.zeros(len(own), dtype=bool)
    following, own = numbered[place[told]], own[told]
    found[told] = (numbers[own] >= 0) & (thread[following] == thread[own]) & (numbers[following] > numbers[own])
    return found


def _gone_back_through(measure: OptimizerSpans, rows: Int64Array) -> BoolArray:
    """Whether the backward pass has a node for a norm: it bears the norm's number."""
    ops = measure.trace.ops
    numbers = ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)[matching(ops["name"], _NODE_OF_NORM.match)]
    found: BoolArray = np.isin(_sequences(measure, rows), numbers[numbers >= 0])
    return found


def _numbered_in_nodes(measure: OptimizerSpans, nodes: BoolArray) -> bool:
    """Whether autograd numbers ops of the backward pass, as it does where that is recorded itself."""
    ops = measure.trace.ops
    numbered = ops["sequence"].notna().to_numpy() & matching(ops["name"], lambda name: name.startswith("aten::"))
    inside = measure.tree.under(_in_tree(measure, nodes))
    return bool((numbered & inside[measure.tree.sources["ops"]]).any())


def _in_tree(measure: OptimizerSpans, ops: BoolArray) -> BoolArray:
    mask = np.zeros(len(measure.tree.frame), dtype=bool)
    mask[measure.tree.sources["ops"]] = ops
    return mask


def _none_yet(measure: OptimizerSpans, at: Int64Array, back: Int64Array) -> BoolArray:
    """Whether gradients were dropped or zeroed since the last backward pass; not told where several optimizers may be at work."""
    zeroed = np.sort(measure.start[measure.range_of("zero_grad")])
    if np.count_nonzero(measure.innermost_steps) > measure.steps.count:
        return np.zeros(len(at), dtype=bool)
    found: BoolArray = last_before(zeroed, at) > back
    return found


def _scaled_behind(measure: OptimizerSpans, top: Int64Array, rows: Int64Array, updates: Int64Array) -> BoolArray:
    """Whether about as many tensors as have a norm are scaled in place in front of the same update, from the first norm on."""
    if not len(updates):
        return np.zeros(len(rows), dtype=bool)
    scaling = top[measure.tree.matching(_SCALES)[top]]
    lists = measure.tree.matching(_SCALES_A_LIST)
    of_norm = np.searchsorted(updates, measure.start[rows], side="left")
    first = np.full(len(updates) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, of_norm, measure.start[rows])
    of_scaling = np.searchsorted(updates, measure.start[scaling], side="left")
    counted = measure.start[scaling] >= first[of_scaling]
    taken = np.bincount(of_norm, minlength=len(first))
    weight = np.where(lists[scaling], taken[of_scaling], 1)[counted]
    scaled = np.bincount(of_scaling[counted], weights=weight, minlength=len(first))
    found: BoolArray = scaled[of_norm] >= _SCALED * taken[of_norm]
    return found
