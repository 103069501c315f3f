"""Ops that launch one kernel many times in each call: they compute piece by piece."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import codes_of, distinct_texts
from traces.patterns import Pattern

# Sorts and sums of torch launch ten kernels at most, of one name a few.
_MANY = 32
_MOST = 0.5
# Time steps of a recurrent network follow one another: each is as large as the batch.
_THROUGH_TIME = Pattern(r"rnn|lstm|gru")


class Pieces(msgspec.Struct, frozen=True):
    """An op, and how many kernels of one name each of its calls launches."""

    op: str
    each: int


def pieces_of_calls(host: HostFacts, kernels: Kernels, rows: BoolArray) -> Pieces | None:
    """The op of torch whose calls launch most of some kernels, many of one name each; None where none does.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
        rows: Which of them, shape (kernels,).
    """
    ops, frame = host.ops.ops["name"], kernels.frame
    at = frame["op"].to_numpy(np.int64)
    op, name = pick_row(codes_of(ops).astype(np.int64), at), codes_of(frame["name"]).astype(np.int64)
    dur = frame["dur_ns"].to_numpy()
    known = rows & (op >= 0)
    if not known.any():
        return None
    pairs, place = np.unique(np.stack([op[known], name[known]]), axis=1, return_inverse=True)
    place = place.reshape(-1)
    longest = int(np.argmax(np.bincount(place, weights=dur[known])))
    mine = np.flatnonzero(known)[place == longest]
    called = str(distinct_texts(ops)[pairs[0, longest]])
    each = len(mine) // max(len(np.unique(at[mine])), 1)
    if each < _MANY or kernels.time_ns(rows) * _MOST > dur[mine].sum():
        return None
    return None if not called.startswith("aten::") or _THROUGH_TIME.search(called) else Pieces(called, each)
