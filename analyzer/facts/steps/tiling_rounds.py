"""Ranges of several names that take turns and tile the recording only together: each round of them is a step.

`forward`, `backward` and `optimizer` around the three parts of a loop are one case. The parts of a model's layer take turns as well
(`attention`, `mlp`): only ranges of which one names a part of a loop are taken for one. What names an update ends an iteration,
however much of it the ranges leave out.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd

from analyzer.facts.steps.tiling_ranges import (
    MIN_REPETITIONS,
    PART,
    TILING_RATIO,
    VARYING,
    Tiling,
    counted_seldom,
    host_extent,
)
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import distinct_texts, is_any
from traces.patterns import Pattern
from traces.trace import Trace

# Fetching, sending, two networks with forward, backward and update each.
_MOST_PARTS = 12
# What comes this much more seldom than the parts of a round is a guest: an evaluation, a checkpoint.
_SELDOM = 0.5
_BESIDE = " + "
# What comes but once in an iteration of a loop, whatever the model is: the end of one, and its beginning.
_ENDS = Pattern(r"^step$|optim|(?:^|[^a-z])opt(?:[^a-z]|$)|update|adam|sgd|apply_grad", re.IGNORECASE)
_BACKWARD = Pattern(r"back_?ward|(?:^|[^a-z])bwd|back_?prop", re.IGNORECASE)
_LOOP = Pattern(
    rf"{_ENDS.pattern}|{_BACKWARD.pattern}|zero_?grad|train|batch|load|fetch|get_?data|(?:^|[^a-z])data(?:[^a-z]|$)",
    re.IGNORECASE,
)
# Parts of a layer, some of which are named as parts of a loop are: `batch_norm`, `cache_update`.
_LAYER = Pattern(rf"{PART.pattern}|norm|relu|gelu|conv|pool|cache|rope|qkv|proj|softmax|linear|gemm", re.IGNORECASE)


def tiling_rounds(trace: Trace) -> Tiling | None:
    """Rounds of ranges that tile what the host does; None where none do, or where they may be parts of something larger.

    Args:
        trace: The trace.
    """
    ranges = trace.annotations[is_any(trace.annotations["kind"], "user")]
    if len(ranges) < 2 * MIN_REPETITIONS:
        return None
    begin, end = host_extent(trace)
    for thread, rows in ranges.groupby("thread"):
        mine = _outermost(rows)
        found = _rounds(mine)
        if found is None or counted_seldom(trace, len(found.start_ns)):
            continue
        updates = any(_ENDS.search(name) for name in found.name.split(_BESIDE))
        span = int(found.end_ns[-1] - found.start_ns[0]) if updates else _covered(mine)
        if span >= TILING_RATIO * (end - begin):
            return Tiling(found.name, found.start_ns, found.end_ns, int(str(thread)))
    return None


def _outermost(rows: pd.DataFrame) -> pd.DataFrame:
    """Those of a thread that lie in no other one, in order; one may begin a rounding before the last one ends."""
    rows = rows.sort_values(["start_ns", "end_ns"], ascending=[True, False], kind="stable")
    before = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, rows["end_ns"].to_numpy()[:-1]))
    return rows[rows["end_ns"].to_numpy() > before]


def _covered(rows: pd.DataFrame) -> int:
    return int((rows["end_ns"] - rows["start_ns"]).sum())


def _rounds(rows: pd.DataFrame) -> Tiling | None:
    """The rounds in which names come again in the same order; None where they do not, or where they may be layers."""
    names = [VARYING.sub("#", name) for name in distinct_texts(rows["name"])]
    turn = np.array(names, dtype=object)[rows["name"].cat.codes.to_numpy()]
    kinds, times = np.unique(turn.astype(str), return_counts=True)
    usual = kinds[times > _SELDOM * times.max()]
    if not 2 <= len(usual) <= _MOST_PARTS or not _of_a_loop(usual.tolist()):
        return None
    rows, turn = rows[np.isin(turn, usual)], turn[np.isin(turn, usual)]
    places = np.flatnonzero(turn == _first(turn.tolist()))
    rounds = [tuple(turn[at:beyond]) for at, beyond in pairwise((*places.tolist(), len(turn)))]
    whole = next((one for one in rounds if len(one) == len(usual)), None)
    # Each name once, always in one order; the recording may end inside a round.
    if len(rounds) < MIN_REPETITIONS or any(one != whole for one in rounds[:-1]) or whole is None:
        return None
    if rounds[-1] != whole[: len(rounds[-1])]:
        return None
    return Tiling(_BESIDE.join(whole).strip("_# "), *_extents(rows, places), thread=0)


def _of_a_loop(names: list[str]) -> bool:
    """Whether names that take turns are of a loop's parts; a layer has none that is called after the backward pass."""
    if any(_LAYER.search(name) for name in names) and not any(_BACKWARD.search(name) for name in names):
        return False
    return any(_LOOP.search(name) for name in names)


def _first(turn: list[str]) -> str:
    """The name that begins a round: the one behind an update, which ends it, else the one that was recorded first."""
    behind = [then for one, then in pairwise(turn) if _ENDS.search(one) and not _ENDS.search(then)]
    return behind[0] if behind else turn[0]


def _extents(rows: pd.DataFrame, places: Int64Array) -> tuple[Int64Array, Int64Array]:
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    return start[places], end[np.append(places[1:], len(rows)) - 1]
