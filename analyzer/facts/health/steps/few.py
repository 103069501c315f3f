"""PG001 no step marks, PG003 too few steps, PG006 first or last step unlike the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analyzer.facts.health.complete.repairs import FEWER_STEPS, WHOLE_FILE, is_cut, more_steps, recorded_later
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.recording.engines import serving_engine
from analyzer.facts.steps.ends import BEGUN_BEFORE, CUT
from analyzer.facts.steps.evaluations import OF_EVALUATION
from analyzer.facts.steps.faults import LOST, PARTIAL, SPIN
from analyzer.facts.steps.find import Steps
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from traces.trace import Trace

# Fewer used steps than this allow no "high" (TraceML warns from 2, rules.md PG003).
ENOUGH_STEPS = 3
# From a mean of so many medians on, half of the recorded time or more lies beyond what usual steps take.
_RESTLESS_TIMES = 2.0
# A message names so many steps.
_NAMED = 5
_HOW_TO_MARK = (
    "call prof.step() after every iteration with schedule(wait=5, warmup=2, active=6, repeat=1), "
    "or use `advisor collect`"
)
# `advisor collect` saw no optimizer step, no backward pass, no loader give a batch and no model called again and again. The
# environment of the program may have no advisor.
_HOW_TO_MARK_COLLECTED = (
    "record the program with a profiler of its own: `torch.profiler.profile` around the loop, with "
    "schedule(wait=5, warmup=2, active=6, repeat=1), and prof.step() after every iteration"
)


# The loop is the engine's: its caller has no place for marks.
_HOW_TO_MARK_SERVED = (
    "record with the engine's own profiler, in a version that opens a range for each pass (vLLM: `execute_context`, SGLang: "
    "`step[DECODE`), while requests come"
)


def _how_to_mark(trace: Trace) -> str:
    if serving_engine(trace) is not None:
        return _HOW_TO_MARK_SERVED
    return _HOW_TO_MARK_COLLECTED if trace.meta.advisor else _HOW_TO_MARK


def _of_engine(trace: Trace, steps: Steps) -> bool:
    """Whether the steps are the passes of an engine, by its own ranges: those say more than marks could."""
    return steps.recurring and steps.count >= ENOUGH_STEPS and serving_engine(trace) is not None


def check(trace: Trace, steps: Steps, compiling: IntervalSet) -> Iterator[Symptom]:
    """Symptoms that concern the steps.

    Args:
        trace: The trace.
        steps: The steps.
        compiling: When something is compiled.
    """
    if not steps.marked and not _of_engine(trace, steps):
        how = (
            "the whole trace is taken as one step"
            if steps.source == "whole-trace"
            else f"steps are inferred from {steps.source.split(':', 1)[-1]}"
        )
        # What recurs in the program's own ranges tells steps as well as marks do; a guess from kernels, or none, does not.
        told = steps.recurring and steps.count >= ENOUGH_STEPS
        yield Symptom(
            "PG001",
            Gravity.NOTE if told else Gravity.CAUTION,
            f"The trace has no step marks: {how}.",
            _how_to_mark(trace),
            1,
        )
    elif steps.count < ENOUGH_STEPS:
        yield Symptom(
            "PG003",
            Gravity.CAUTION,
            f"Only {count(steps.count, 'step')} can be used: one slow step cannot be told from a slow program.",
            WHOLE_FILE if is_cut(trace) else more_steps(trace),
            steps.count,
        )
    yield from _restless(steps)
    if steps.backlog_ns:
        yield Symptom(
            None,
            Gravity.NOTE,
            f"For the first {duration(steps.backlog_ns)} the device works off what was launched before the recording: no step's "
            "time.",
            None,
            1,
        )
    yield from _left_out(trace, steps, compiling)


def _left_out(trace: Trace, steps: Steps, compiling: IntervalSet) -> Iterator[Symptom]:
    """Steps whose events are lost in part, and those that are unlike the others."""
    left_out = chosen(steps.frame, present(steps.frame["reason"]) & ~steps.frame["used"].to_numpy())
    if not len(left_out):
        return
    spoilt = left_out[left_out["reason"].str.startswith((LOST, PARTIAL))]
    if len(spoilt):
        yield Symptom(
            "PG005",
            # With next to none left, those need not be like the others.
            Gravity.UNUSABLE if steps.count < ENOUGH_STEPS and 2 * len(spoilt) > len(steps.frame) else Gravity.CAUTION,
            _named(steps.noun, spoilt),
            WHOLE_FILE if is_cut(trace) else FEWER_STEPS,
            len(spoilt),
        )
    evaluating = left_out[left_out["reason"].str.startswith(OF_EVALUATION)]
    if len(evaluating):
        yield Symptom(
            "PG006",
            Gravity.NOTE,
            f"{count(len(evaluating), steps.noun)} are left out as {evaluating['reason'].iloc[0]}.",
            "record the evaluation by itself to judge it, or choose its steps with --steps",
            len(evaluating),
        )
    odd = left_out[left_out["reason"].str.startswith(("first step", CUT, "empty", SPIN, BEGUN_BEFORE))]
    if len(odd):
        yield Symptom(
            "PG006",
            Gravity.NOTE,
            _named(steps.noun, odd, _compiled(odd, compiling)),
            _odd_fix(trace, odd),
            len(odd),
        )


def _compiled(odd: pd.DataFrame, compiling: IntervalSet) -> str:
    """Words for odd steps that compile for most of their time: the first request of a server may do so for each new shape."""
    spans = IntervalSet.of_rows(odd)
    taken = (spans & compiling).total_ns
    return f"; {share(taken / spans.total_ns)} of that is compiling" if 2 * taken > spans.total_ns else ""


def _odd_fix(trace: Trace, odd: pd.DataFrame) -> str | None:
    """A slow first step asks for a later start, one that ends early for a later end; an empty one in between for nothing."""
    reasons = odd["reason"].str
    fixes = []
    if bool(reasons.startswith(("first step", SPIN, BEGUN_BEFORE)).any()):
        fixes.append(recorded_later(trace))
    if bool(reasons.startswith(CUT).any()):
        fixes.append(
            WHOLE_FILE
            if is_cut(trace)
            else "let the schedule end the recording, and wait for the device before the last prof.step()"
        )
    return "; ".join(fixes) or None


def _restless(steps: Steps) -> Iterator[Symptom]:
    """A mean that is mostly made of a few steps: shares of the mean step describe those, not a usual one."""
    lengths = steps.used["dur_ns"].to_numpy()
    median = float(np.median(lengths)) if len(lengths) >= ENOUGH_STEPS else 0.0
    if not median or float(lengths.mean()) < _RESTLESS_TIMES * median:
        return
    long = lengths[lengths >= _RESTLESS_TIMES * median]
    part = float(long.sum() / lengths.sum())
    take = "takes" if len(long) == 1 else "take"
    when = "while requests come" if steps.requests else "in the middle of an epoch"
    yield Symptom(
        None,
        Gravity.CAUTION,
        f"{count(len(long), steps.noun)} of {len(lengths)} {take} {share(part)} of the time (median {duration(median)}, mean "
        f"{duration(float(lengths.mean()))}): shares and savings describe them, not a usual {steps.noun}.",
        f"where these do more than the others (evaluate, compile, write output), record whole periods of it; else record on a "
        f"machine that nothing else uses, {when}; or choose steps with --steps",
        len(long),
        part,
    )


def _named(noun: str, steps: pd.DataFrame, beside: str = "") -> str:
    """Each step with its reason; of many the first few. What else is to be said stands behind."""
    named = [f"{noun} {row.number} is left out: {row.reason}" for row in steps.head(_NAMED).itertuples()]
    more = len(steps) - _NAMED
    return "; ".join([*named, f"{more} more are left out"] if more > 0 else named) + f"{beside}."
