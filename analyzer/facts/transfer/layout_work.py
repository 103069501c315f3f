"""Device time that only moves or re-lays data: copies within the device and kernels of contiguous, clone, copy_, cat."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.fusion import is_compiled
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.model.section import ModelFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.transfer.copies import Transfers
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# Forward passes of cuDNN's and MIOpen's recurrent networks, which take all weights as one piece of memory.
_RECURRENT = ("aten::_cudnn_rnn", "aten::miopen_rnn")
# A layer without biases has two; states are copied at most as often.
_WEIGHTS = 4
MOVERS = ("aten::contiguous", "aten::clone", "aten::copy_", "aten::_to_copy", "aten::cat")


class LayoutWork(msgspec.Struct, frozen=True):
    """Work on the device that stands for the trace, inside the used steps.

    Args:
        time: When it runs and no other kernel does; overlapping pieces count once.
        by_op: Summed device nanoseconds by the outermost op that asked for it, most first: (name, pieces, nanoseconds).
        thread: Thread of each piece's launch, where known.
        at_ns: Start of each piece's launch.
        dur_ns: Its device time.
        replay_ns: Device time of what compiled regions copy in a program that replays graphs: their inputs, to where the graph
            reads them, and their results.
        recurrent_ns: Device time of what calls of a recurrent network's library copy, several pieces each: its weights.
    """

    time: IntervalSet
    by_op: tuple[tuple[str, int, int], ...]
    thread: Int64Array
    at_ns: Int64Array
    dur_ns: Int64Array
    replay_ns: int
    recurrent_ns: int


def layout_work(
    trace: Trace, steps: Steps, host: HostFacts, kernels: KernelFacts, model: ModelFacts, transfers: Transfers
) -> LayoutWork:
    """Measures it. Number-format casts are left out (family PR), and so is what optimizers copy."""
    tree = host.ops
    movers = tree.named(lambda name: name in MOVERS)
    nearest = np.append(tree.nearest(movers), NONE)
    frame = kernels.named.frame
    op = frame["op"].to_numpy(np.int64)
    # By the name of a kernel, or by the types of what is copied: where it walks through strides no name tells.
    moving: BoolArray = (nearest[op] != NONE) & ~frame["cast"].to_numpy(dtype=bool) & ~kernels.casts.rows
    moving &= ~frame["in_optimizer"].to_numpy(dtype=bool) & ~frame["collective"].to_numpy(dtype=bool)
    inside = transfers.within.frame
    called = inside["call_start_ns"].to_numpy(dtype=np.int64, na_value=NONE)
    outside = ~host.threads.anywhere("optimizer").contains(called)
    inside, called = inside[outside], called[outside]
    thread = inside["call_thread"].to_numpy(dtype=np.int64, na_value=NONE)
    asking = np.concatenate([nearest[op[moving]], _or_itself(nearest, tree.enclosing(thread, called))])
    launched = np.nan_to_num(frame["launch_start_ns"].to_numpy()[moving], nan=NONE).astype(np.int64)
    dur = np.concatenate([frame["dur_ns"].to_numpy()[moving], inside["dur_ns"].to_numpy()])
    return LayoutWork(
        ((kernels.named.spans(moving) | IntervalSet.of_rows(inside)) & steps.window) - kernels.named.spans(~moving),
        _by_name(trace, asking, dur),
        np.concatenate([_thread(trace, op[moving]), thread]),
        np.concatenate([launched, called]),
        dur,
        int(dur[np.append(tree.nearest(tree.named(is_compiled)), NONE)[asking] != NONE].sum())
        if model.repetition.graphs
        else 0,
        _weights_ns(np.append(tree.nearest(tree.named(lambda name: name in _RECURRENT)), NONE)[asking], dur),
    )


def _by_name(trace: Trace, ops: Int64Array, dur_ns: Int64Array) -> tuple[tuple[str, int, int], ...]:
    """Pieces and nanoseconds by the name of their op, most first; of as much in the order of the names."""
    names = trace.ops["name"]
    known = [*distinct_texts(names), "no op known"]
    codes = np.append(codes_of(names), NONE).astype(np.int64)[ops] % len(known)
    counts, totals = sums_by(codes, dur_ns, len(known))
    rows = [(known[code], int(counts[code]), int(totals[code])) for code in np.flatnonzero(counts).tolist()]
    return tuple(sorted(rows, key=lambda row: (-row[2], row[0])))


def _weights_ns(call: Int64Array, dur_ns: Int64Array) -> int:
    """Nanoseconds of the pieces whose call copies no fewer than a layer has weights; `call` is -1 for pieces outside."""
    calls, place, pieces = np.unique(call, return_inverse=True, return_counts=True)
    return int(dur_ns[(calls[place] != NONE) & (pieces[place] >= _WEIGHTS)].sum())


def _or_itself(nearest: Int64Array, rows: Int64Array) -> Int64Array:
    """The mover around each op, else the op itself; -1 where neither is known."""
    around = nearest[rows]
    return np.where(around == NONE, rows, around)


def _thread(trace: Trace, op: Int64Array) -> Int64Array:
    """Thread of each op; -1 where no op is known."""
    return np.append(trace.ops["thread"].to_numpy(np.int64), NONE)[op]
