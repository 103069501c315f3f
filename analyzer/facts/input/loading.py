"""What loading a batch consists of."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.wait import InputWait
from analyzer.facts.recording.section import RecordingFacts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen, columns_at, numbered, sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.nesting import nest
from traces.patterns import Pattern
from traces.trace import Trace

# An op sequence repeated fewer times than this in a batch says nothing about samples.
_MIN_SAMPLES = 4
# One op may repeat for any reason; several with one count are the transform of one sample.
_MIN_SEQUENCE = 3
# Part of the turns of an op that must have equally many of another between them, for both to belong to each sample.
_EVENLY_RATIO = 0.9
# What a tensor's row is taken by, and what torch's own collation puts rows together with: a `TensorDataset` runs nothing else.
_ROW, _TOGETHER = "aten::select", "aten::stack"
# What that calls for each row, before it copies.
_VIEW = "aten::unsqueeze"
# What draws random numbers; a loader that shuffles does so once an epoch, augmentation once a sample or more.
_DRAW = Pattern(
    r"aten::(?:rand|randn|randint|random|randperm|normal|uniform|bernoulli|exponential|multinomial)(?:_like)?_?$"
)


class Loading(msgspec.Struct, frozen=True):
    """One batch made in the training process, as its ops show it.

    Args:
        samples: Samples in a batch: as many as the same sequence of ops is repeated inside one `__next__`; None where no
            sequence repeats.
        sequence: Names of the ops repeated once a sample, the most expensive first.
        ops_ns: Time inside ops, all calls together.
        per_sample_ns: Mean host time of one sample; None where the number of samples is unknown.
        mean_op_ns: Mean time of one of the ops repeated once a sample; None where none repeats.
        draws: Whether torch draws random numbers at least once a sample: augmentation, or data made up on the spot. Draws of other
            libraries leave no op.
        copying_ns: Time in which torch's own collation copies rows into a batch, all calls together: what takes whole batches from
            memory copies as much. 0 where rows are put together as often as samples are made: that may be theirs.
    """

    samples: int | None
    sequence: tuple[str, ...]
    ops_ns: int
    per_sample_ns: float | None
    mean_op_ns: float | None
    draws: bool = False
    copying_ns: int = 0

    @property
    def converts_images(self) -> bool:
        """Whether each sample becomes float and is divided, as torchvision's ToTensor does with bytes."""
        return {"aten::div", "aten::permute"} <= set(self.sequence)


def loading(
    trace: Trace, recording: RecordingFacts, host: HostFacts, input_wait: InputWait, within: pd.DataFrame
) -> Loading:
    """Measures the loader's calls on the main thread; empty where batches come from worker processes.

    Args:
        trace: The trace.
        recording: What is known beside the events.
        host: What the host's threads do.
        input_wait: The calls.
        within: From `ops_inside`, of the main thread in these calls.
    """
    calls = input_wait.calls
    ops = trace.ops
    busy = IntervalSet.of_rows(within)
    samples, sequence = _repeated(within, calls)
    stated = recording.collected.batch_size
    if stated and input_wait.single_process and not recording.collected.whole_batches:
        samples = stated
    host_ns = input_wait.host.total_ns
    made_here = not input_wait.multi_process and not input_wait.own_workers
    per_sample = host_ns / len(calls) / samples if samples and len(calls) and made_here else None
    repeats = len(calls) * (samples or 0) * len(sequence)
    draws = bool(samples) and _draws(within, calls) >= (samples or 0)
    mean_op_ns = busy.total_ns / repeats if repeats else None
    copying_ns = _copying_ns(ops, within, len(calls), samples, host.main_thread)
    return Loading(samples, sequence, busy.total_ns, per_sample, mean_op_ns, draws, copying_ns)


def _copying_ns(ops: pd.DataFrame, within: pd.DataFrame, calls: int, samples: int | None, thread: int | None) -> int:
    """How long rows are copied into batches.

    Args:
        ops: All of the trace.
        within: Outermost ops of a thread that begin inside a call.
        calls: How many calls there are.
        samples: How many samples a call makes; None where nobody knows.
        thread: That thread.
    """
    together = chosen(within, is_any(within["name"], _TOGETHER))
    if samples is None or not len(together) or len(together) >= calls * samples:
        return 0
    views = is_any(ops["name"], _VIEW) & (ops["thread"].to_numpy() == thread)
    return (IntervalSet.of_rows(together) - IntervalSet.of_rows(chosen(ops, views))).total_ns


def _draws(ops: pd.DataFrame, calls: pd.DataFrame) -> float:
    """Median number of ops inside one call that draw random numbers."""
    starts = np.sort(calls["start_ns"].to_numpy())
    at = ops["start_ns"].to_numpy()[matching(ops["name"], _DRAW.match)]
    if not len(at):
        return 0.0
    call = np.searchsorted(starts, at, side="right") - 1
    return float(np.median(np.bincount(call, minlength=len(starts))))


def ops_inside(ops: pd.DataFrame, thread: int | None, calls: pd.DataFrame) -> pd.DataFrame:
    """Outermost ops of a thread that begin inside a call."""
    if not len(calls):
        return ops.iloc[:0]
    spans = IntervalSet.of_rows(calls)
    lane, start, end = (ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    rows = np.flatnonzero(spans.contains(start) & (lane == thread))
    outermost = rows[nest(lane[rows], start[rows], end[rows]).is_root]
    return columns_at(ops, outermost, ("name", "start_ns", "end_ns", "dur_ns"))


def _repeated(ops: pd.DataFrame, calls: pd.DataFrame) -> tuple[int | None, tuple[str, ...]]:
    """The count that most op names share inside one call, and those names."""
    if not len(ops):
        return None, ()
    starts = np.sort(calls["start_ns"].to_numpy())
    call = np.searchsorted(starts, ops["start_ns"].to_numpy(), side="right") - 1
    code, names = codes_of(ops["name"]).astype(np.int64), distinct_texts(ops["name"])
    place, number = numbered(call)
    table = np.bincount(code * number + place, minlength=len(names) * number).reshape(len(names), number)
    # Of the calls that hold any op at all.
    typical = np.median(table, axis=1).astype(np.int64)
    counts, times = np.unique(typical[typical >= _MIN_SAMPLES], return_counts=True)
    if times.max(initial=0) < _MIN_SEQUENCE:
        rows = _rows_together(dict(zip(names, typical.tolist(), strict=True)))
        return rows, (_ROW,) if rows else ()
    # Of equally common counts the smaller, which comes first: an op may be called twice a sample, never half a time.
    best = _turns_apart(
        code[np.argsort(ops["start_ns"].to_numpy(), kind="stable")], typical, int(counts[np.argmax(times)])
    )
    _, cost = sums_by(code, ops["dur_ns"].to_numpy(), len(names))
    shared = np.flatnonzero((typical > 0) & (typical % best == 0))
    mine = sorted(shared.tolist(), key=lambda one: (-int(cost[one]), names[one]))
    return best, tuple(names[one] for one in mine)


def _rows_together(typical: dict[str, int]) -> int | None:
    """Rows of tensors in a batch, where each tensor's are taken one by one and put together at the end; None where it is not so.

    Args:
        typical: How often each name occurs in one call.
    """
    tensors = typical.get(_TOGETHER, 0)
    rows, left = divmod(typical.get(_ROW, 0), tensors) if tensors else (0, 0)
    often = (number for number in typical.values() if number >= _MIN_SAMPLES)
    return rows if rows >= _MIN_SAMPLES and not left and all(number % rows == 0 for number in often) else None


def _turns_apart(code: Int64Array, typical: Int64Array, best: int) -> int:
    """How often samples begin, where each holds several turns of the same ops: another op then comes once in so many turns.

    Args:
        code: Number of the name of each op, in their order.
        typical: How often each name occurs in one call.
        best: How often most of them do.
    """
    leader = np.cumsum(code == int(np.argmax(typical == best)))
    for one in np.argsort(typical, kind="stable").tolist():
        number = int(typical[one])
        if number >= _MIN_SAMPLES and number < best and best % number == 0:
            between = np.diff(leader[code == one])
            if (between == best // number).mean() >= _EVENLY_RATIO:
                return number
    return best
