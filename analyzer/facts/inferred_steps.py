"""Steps of a program that did not mark them: found by what repeats.

In this order: ranges that frameworks put around an iteration or a request, the optimizer's step, the loader's `__next__`, the
program's own ranges around the forward pass, and at last the sequence of kernels. What was used is named in `Steps.source`, and
confidence stays low (PG001).
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.training import trains
from traces.trace import Trace

Int64Array = npt.NDArray[np.int64]

# Two repetitions are a pair, not a rhythm.
MIN_REPETITIONS = 3
# A sequence counts as periodic when this share of its kernels equals the one a period later.
_PERIODIC_RATIO = 0.9
# Kernels of one period at least: shorter ones are loops inside a step.
_MIN_PERIOD = 8
_CANDIDATE_PERIODS = 16
# The gap between two steps is at least this many times the longest gap inside a step; equal layers have no such gap.
_CUT_TIMES = 2.0

_ITERATION_RANGES = re.compile(
    r"execute_(?:\d+_)?context_|(?:.*[ .:])?execute_model|execute_new_|.*run_training_batch|(?:.*[ .:])?run_batch\b"
    r"|.*(?:\b|_)(?:training|train|validation|val|test|predict|eval|engine)_step"
    r"|## *forward(?: +\d+)? *##|(?:.*\W)?_?forward_step|gpu_model_runner: forward"
    r"|(?:train|training|inference|decode|prefill|request)[ _]?(?:step|iteration|iter|batch|loop)?\b"
    r"|(?:iteration|iter|batch|step)(?:\b|_?\d)",
    re.IGNORECASE,
)
# Ranges that come so many times as often as the optimizer's step are parts of one: accumulated gradients.
_PARTS = 1.5
# A pass may come several times a step (accumulated gradients, a discriminator): only where nothing better tells steps apart.
_PASS_RANGES = re.compile(r"\W*(?:forward|fwd)(?:[ _]?pass)?\W*$", re.IGNORECASE)
# What differs from one iteration to the next: its number, and what a server says of its requests (`step[DECODE bs=4]`).
_VARYING = re.compile(r"(?<=\w)\[.*|\d+")


class InferredSteps(msgspec.Struct, frozen=True):
    """Steps found by repetition.

    Args:
        how: What repeats, for people: `annotation execute_context`, `Optimizer.step`, `DataLoader`, `kernel sequence`.
        start_ns: Start of each step, sorted, shape (n,).
        end_ns: End of each step, shape (n,).
        thread: Row in `trace.threads` of the ranges' thread, or None.
        requests: Whether the repetition is a served request rather than a training step.
    """

    how: str
    start_ns: Int64Array
    end_ns: Int64Array
    thread: int | None
    requests: bool


def infer_steps(trace: Trace) -> InferredSteps | None:
    """The most trustworthy repetition of the trace, or None.

    Args:
        trace: A trace without ProfilerStep marks.
    """
    requests = not trains(trace)
    ranges = _from_ranges(trace, _ITERATION_RANGES, requests=requests)
    optimizer = _from_optimizer(trace)
    if ranges and optimizer and len(ranges.start_ns) >= _PARTS * len(optimizer.start_ns):
        ranges = None
    return (
        ranges
        or optimizer
        or _from_loader(trace, requests=requests)
        or _from_ranges(trace, _PASS_RANGES, requests=requests)
        or _from_kernels(trace, requests=requests)
    )


def _from_ranges(trace: Trace, names_like: re.Pattern[str], *, requests: bool) -> InferredSteps | None:
    ranges = trace.annotations[trace.annotations["kind"] == "user"]
    names = [str(name) for name in ranges["name"].cat.categories]
    alike = np.array([_VARYING.sub("#", name) if names_like.match(name) else "" for name in names] + [""], dtype=object)
    groups = pd.Series(alike[ranges["name"].cat.codes.to_numpy()], index=ranges.index)
    best: InferredSteps | None = None
    covered = 0
    for (name, _), rows in ranges.groupby([groups, ranges["thread"]]):
        start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        # Nested or crossing ranges of one name are no iterations.
        if not name or len(rows) < MIN_REPETITIONS or (start[1:] < end[:-1]).any():
            continue
        total = int((end - start).sum())
        if total > covered:
            covered = total
            best = _between_starts(
                f"annotation {str(name).strip('_# ')}", start, int(end[-1]), int(rows["thread"].iloc[0]), requests
            )
    return best


def _from_optimizer(trace: Trace) -> InferredSteps | None:
    spans = trace.annotations[trace.annotations["kind"] == "optimizer_step"]
    if not len(spans):
        return None
    # Wrapped optimizers nest, and several may take turns: one of them keeps the time.
    name = spans["name"].astype("str").value_counts().sort_index().idxmax()
    mine = spans[spans["name"] == name]
    if len(mine) < MIN_REPETITIONS:
        return None
    end = np.sort(mine["end_ns"].to_numpy())
    begin = min(int(frame["start_ns"].min()) for frame in (trace.ops, trace.annotations, trace.runtime) if len(frame))
    return InferredSteps("Optimizer.step", np.concatenate([[begin], end[:-1]]), end, int(mine["thread"].iloc[0]), False)


def _from_loader(trace: Trace, *, requests: bool) -> InferredSteps | None:
    calls = trace.annotations[trace.annotations["kind"] == "loader"]
    if len(calls) < MIN_REPETITIONS or calls["thread"].nunique() != 1:
        return None
    start = np.sort(calls["start_ns"].to_numpy())
    last = max(int(frame["end_ns"].max()) for frame in (trace.ops, trace.annotations, trace.kernels) if len(frame))
    return _between_starts("DataLoader", start, last, int(calls["thread"].iloc[0]), requests)


def _between_starts(how: str, start: Int64Array, last: int, thread: int, requests: bool) -> InferredSteps:
    return InferredSteps(how, start, np.append(start[1:], last), thread, requests)


def _from_kernels(trace: Trace, *, requests: bool) -> InferredSteps | None:
    """The shortest period of the kernels' names on the busiest device, in order of start."""
    if not len(trace.kernels):
        return None
    device = trace.kernels["device"].mode().iloc[0]
    kernels = trace.kernels[trace.kernels["device"] == device].sort_values("start_ns", kind="stable")
    codes = kernels["name"].cat.codes.to_numpy().astype(np.int64)
    period = _period(codes)
    if period is None:
        return None
    start, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
    first = _cut(start[1:] - end[:-1], period)
    cuts = start[first::period] if first is not None else start[:0]
    if len(cuts) < MIN_REPETITIONS + 1:
        return None
    return InferredSteps(f"kernel sequence of {period}", cuts[:-1], cuts[1:], None, requests)


def _cut(gaps: Int64Array, period: int) -> int | None:
    """First kernel of the second period: after the gap that is the longest in every period.

    None where no gap stands out: then the repetition is rather one of equal layers inside a step.
    """
    rows = len(gaps) // period
    typical = np.median(gaps[: rows * period].reshape(rows, period), axis=0)
    longest = int(np.argmax(typical))
    others = np.delete(typical, longest)
    return longest + 1 if typical[longest] >= _CUT_TIMES * max(float(others.max()), 1.0) else None


def _period(codes: Int64Array) -> int | None:
    """The smallest period >= _MIN_PERIOD with which the sequence repeats, tried at distances between equal rare kernels."""
    values, counts = np.unique(codes, return_counts=True)
    tried: set[int] = set()
    rare = values[(counts >= MIN_REPETITIONS)][np.argsort(counts[counts >= MIN_REPETITIONS], kind="stable")]
    for value in rare[:_CANDIDATE_PERIODS]:
        distance = np.diff(np.flatnonzero(codes == value))
        tried.add(int(np.median(distance)))
    for period in sorted(tried):
        if period < _MIN_PERIOD or len(codes) < MIN_REPETITIONS * period:
            continue
        if float((codes[period:] == codes[:-period]).mean()) >= _PERIODIC_RATIO:
            return period
    return None
