"""A Python loop through a tensor while samples are made: the same ops again and again in each of them."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.input.loading import Loading
from analyzer.facts.input.wait import InputWait
from analyzer.facts.loops.find import MIN_REPEATS, takes_elements
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.repeats import canonical, repeated_runs

# What a data set of tensors takes each tensor of a sample by: as many of them in a row are as many tensors.
_ROW = ("aten::select",)


class SampleLoop(msgspec.Struct, frozen=True):
    """A loop through a tensor inside the making of samples.

    Args:
        unit: Names of the ops of a turn, in their order.
        turns: How many there are in a row, in the mean.
        spans: From the first op of each run of turns to the end of the last.
        ratio: Share of the loader's calls that this is, 0..1.
    """

    unit: tuple[str, ...]
    turns: float
    spans: IntervalSet
    ratio: float


def sample_loop(ops: pd.DataFrame, wait: InputWait, made: Loading) -> SampleLoop | None:
    """The loop that takes most of making samples in the training process; None where none is known.

    The same ops once a sample are no loop of the sample's: only what repeats more often than samples are made is.

    Args:
        ops: Outermost ops of the training thread in the loader's calls.
        wait: The calls of the loader.
        made: How many samples one of them makes.
    """
    if made.samples is None or not wait.single_process or not len(wait):
        return None
    if len(ops) < MIN_REPEATS:
        return None
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    order = np.argsort(start, kind="stable")
    start, end, codes = start[order], end[order], codes_of(ops["name"]).astype(np.int64)[order]
    calls = np.sort(wait.calls["start_ns"].to_numpy())
    runs = repeated_runs(codes, np.searchsorted(calls, start, side="right"), min_repeats=MIN_REPEATS)
    names, samples = distinct_texts(ops["name"]), len(calls) * made.samples
    of_unit: dict[tuple[int, ...], list[int]] = {}
    for place in range(len(runs)):
        of_unit.setdefault(canonical(runs.unit(codes, place)), []).append(place)
    found = []
    for places in of_unit.values():
        mine = runs.at(np.array(places))
        unit = tuple(names[code] for code in mine.unit(codes, 0))
        turns = int(mine.repeats.sum())
        if turns < MIN_REPEATS * samples or unit == _ROW or not takes_elements(unit):
            continue
        spans = IntervalSet(start[mine.first], end[mine.end - 1])
        found.append(
            SampleLoop(unit, turns / len(mine), spans, (spans & wait.host).total_ns / max(wait.host.total_ns, 1))
        )
    return max(found, key=lambda loop: loop.ratio, default=None)
