"""Steps of a program that did not mark them: found by what repeats.

In this order: ranges that frameworks put around an iteration or a request, the optimizer's step, the loader's `__next__`, ranges of
the program's own that tile the recording, those around the forward pass, and at last the sequence of kernels. What was used is
named in `Steps.source`, and confidence stays low (PG001). Where nothing is sure to be a step, the whole recording is one.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.recording.said_passes import said_passes
from analyzer.facts.recording.training import evaluates, trains
from analyzer.facts.steps.kernel_periods import kernel_steps
from analyzer.facts.steps.one_pass import ENGINE_PASSES, is_one_pass
from analyzer.facts.steps.optimizer_turns import ends_of_rounds, outermost_steps
from analyzer.facts.steps.tiling_ranges import MIN_REPETITIONS, VARYING, called, cross, tiling_ranges
from analyzer.facts.steps.tiling_rounds import tiling_rounds
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import distinct_texts, is_any
from traces.patterns import Pattern
from traces.trace import Trace

_ITERATION_RANGES = Pattern(
    rf"{ENGINE_PASSES.pattern}|.*run_training_batch"
    r"|.*(?:\b|_)(?:training|train|validation|val|test|predict|eval|engine)_step"
    r"|## *forward(?: +\d+)? *##|(?:.*\W)?_?forward_step|gpu_model_runner: forward"
    r"|(?:train|training|inference|decode|prefill|request)[ _]?(?:step|iteration|iter|batch|loop)?\b"
    r"|(?:iteration|iter|batch|step)(?:\b|_?\d)",
    re.IGNORECASE,
)
# Ranges that come so many times as often as the optimizer's step are parts of one: accumulated gradients.
_PARTS = 1.5
_PROMPT_OR_TOKEN = "prefill or decode"
# A pass may come several times a step (accumulated gradients, a discriminator): only where nothing better tells steps apart.
_PASS_RANGES = Pattern(r"\W*(?:forward|fwd)(?:[ _]?pass)?\W*$", re.IGNORECASE)
# What repeats in a small part of the recording only is another thing than the rest shows: a validation behind the training. Half is
# far from what the first step or the last one may lack.
_SPAN_PART = 0.5


class InferredSteps(msgspec.Struct, frozen=True):
    """Steps found by repetition.

    Args:
        how: What repeats, for people: `annotation execute_context`, `Optimizer.step`, `DataLoader`, `kernel sequence`.
        start_ns: Start of each step, sorted, shape (n,).
        end_ns: End of each step, shape (n,).
        thread: Row in `trace.threads` of the ranges' thread, or None.
        requests: Whether the repetition is a served request rather than a training step.
        one_pass: Whether each of these requests is one pass of the model, of which a generated text takes one a token.
    """

    how: str
    start_ns: Int64Array
    end_ns: Int64Array
    thread: int | None
    requests: bool
    one_pass: bool = False

    @property
    def span_ns(self) -> int:
        """From the first step's start to the last one's end."""
        return int(self.end_ns[-1] - self.start_ns[0])


def infer_steps(trace: Trace, launched: pd.DataFrame) -> InferredSteps | None:
    """The most trustworthy repetition of the trace, or None.

    Args:
        trace: A trace without ProfilerStep marks.
        launched: From `launches.launches`.
    """
    requests = not trains(trace) and not evaluates(trace)
    ranges = _from_ranges(trace, _ITERATION_RANGES, requests=requests)
    optimizer = _from_optimizer(trace)
    if ranges and optimizer and len(ranges.start_ns) >= _PARTS * len(optimizer.start_ns):
        ranges = None
    if ranges is not None and optimizer is None:
        ranges = _whole_round(trace, ranges)
    loader = _from_loader(trace, requests=requests)
    named = [found for found in (ranges, optimizer, loader) if found is not None]
    if named:
        longest = max(found.span_ns for found in named)
        return next(found for found in named if found.span_ns >= _SPAN_PART * longest)
    return (
        _from_tiling(trace, requests=requests)
        or _from_ranges(trace, _PASS_RANGES, requests=requests)
        or _from_kernels(trace, launched, requests=requests)
    )


def _from_ranges(trace: Trace, names_like: Pattern[str], *, requests: bool) -> InferredSteps | None:
    ranges = trace.annotations[trace.annotations["kind"] == "user"]
    names = distinct_texts(ranges["name"])
    alike = np.array([VARYING.sub("#", name) if names_like.match(name) else "" for name in names] + [""], dtype=object)
    said = said_passes(names)
    parts = np.array(
        [name in said and not said[name].counted and names_like.match(name) is not None for name in names] + [False]
    )
    if parts.any() and _apart(ranges[parts[ranges["name"].cat.codes.to_numpy()]]):
        # Reading a prompt is an iteration of the same loop as adding a token.
        alike[parts] = _PROMPT_OR_TOKEN
    groups = pd.Series(alike[ranges["name"].cat.codes.to_numpy()], index=ranges.index)
    best: InferredSteps | None = None
    covered = 0
    for (name, _), rows in ranges.groupby([groups, ranges["thread"]]):
        start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        # Nested or crossing ranges of one name are no iterations.
        if not name or len(rows) < MIN_REPETITIONS or cross(start, end):
            continue
        total = int((end - start).sum())
        if total > covered:
            covered = total
            best = _between_starts(
                f"annotation {called(rows, str(name))}", start, int(end[-1]), int(rows["thread"].iloc[0]), requests,
                one_pass=requests and is_one_pass(str(rows["name"].iloc[0])),
            )  # fmt: skip
    return best


def _whole_round(trace: Trace, ranges: InferredSteps) -> InferredSteps:
    """The rounds of ranges that come as often as some that are named as steps are: `step` may be but the update's."""
    found = tiling_rounds(trace)
    if found is None or abs(len(found.start_ns) - len(ranges.start_ns)) > 1:
        return ranges
    return _between_starts(
        f"annotation {found.name}", found.start_ns, int(found.end_ns[-1]), found.thread, ranges.requests,
        one_pass=ranges.one_pass or (ranges.requests and is_one_pass(found.name)),
    )  # fmt: skip


def _apart(ranges: pd.DataFrame) -> bool:
    """Whether no range of a thread lies over another of it."""
    ordered = ranges.sort_values("start_ns")
    return not any(
        cross(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()) for _, rows in ordered.groupby("thread")
    )


def _from_optimizer(trace: Trace) -> InferredSteps | None:
    spans = outermost_steps(trace)
    if not len(spans):
        return None
    rounds = ends_of_rounds(trace, spans)
    if rounds is not None:
        end = spans["end_ns"].to_numpy()[rounds]
    else:
        # One of those that step together keeps the time.
        name = str(spans["name"].astype("str").value_counts().sort_index().idxmax())
        end = np.sort(spans["end_ns"].to_numpy()[is_any(spans["name"], name)])
    if len(end) < MIN_REPETITIONS:
        return None
    begin = min(int(frame["start_ns"].min()) for frame in (trace.ops, trace.annotations, trace.runtime) if len(frame))
    return InferredSteps(
        "Optimizer.step", np.concatenate([[begin], end[:-1]]), end, int(spans["thread"].iloc[0]), False
    )


def _from_loader(trace: Trace, *, requests: bool) -> InferredSteps | None:
    calls = trace.annotations[trace.annotations["kind"] == "loader"]
    if len(calls) < MIN_REPETITIONS or calls["thread"].nunique() != 1:
        return None
    start = np.sort(calls["start_ns"].to_numpy())
    last = max(int(frame["end_ns"].max()) for frame in (trace.ops, trace.annotations, trace.kernels) if len(frame))
    return _between_starts("DataLoader", start, last, int(calls["thread"].iloc[0]), requests)


def _between_starts(
    how: str, start: Int64Array, last: int, thread: int, requests: bool, *, one_pass: bool = False
) -> InferredSteps:
    return InferredSteps(how, start, np.append(start[1:], last), thread, requests, one_pass)


def _from_tiling(trace: Trace, *, requests: bool) -> InferredSteps | None:
    found = tiling_ranges(trace) or tiling_rounds(trace)
    if found is None:
        return None
    return _between_starts(
        f"annotation {found.name}", found.start_ns, int(found.end_ns[-1]), found.thread, requests,
        one_pass=requests and is_one_pass(found.name),
    )  # fmt: skip


def _from_kernels(trace: Trace, launched: pd.DataFrame, *, requests: bool) -> InferredSteps | None:
    found = kernel_steps(trace, launched)
    if found is None:
        return None
    how = f"kernel sequence of {found.period}"
    return InferredSteps(how, found.cuts_ns[:-1], found.cuts_ns[1:], None, requests, one_pass=requests)
