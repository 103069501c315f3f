"""Whose code runs between ops, where stacks were recorded: torch's own, on the way to the next op, or the program's.

Each moment is the innermost frame's. A frame of torch is torch's, one of the user the program's; any other, as of a library or
one written in C, is of whoever called it. A method of a tensor is torch's, whoever called it.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.own_code import OwnCode, own_code
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.nesting import nest
from traces.patterns import Pattern
from traces.trace import Trace

# `torch/nn/modules/linear.py(130): forward`; methods and functions of C: `<built-in method add_ of Parameter object at 0x7f>`,
# `<built-in method as_tensor of type object at 0x7f>`, the class of torch's functions.
_TORCH = Pattern(
    r"(?:.*/)?(?:torch|torchvision|torchaudio)/|<built-in method \w+ of (?:\w*Tensor|Parameter|Buffer|type|torch\.\S+) object"
)
_CALLERS, _TORCHS, _PROGRAMS = 0, 1, 2


class WayToOps(msgspec.Struct, frozen=True):
    """Some time on a thread, by whose code runs.

    Args:
        torch_ns: In code of torch.
        program_ns: In code of the program, and what it calls beside torch.
    """

    torch_ns: int
    program_ns: int

    @property
    def program_ratio(self) -> float:
        """The program's share of what is known, 0..1."""
        return self.program_ns / max(self.torch_ns + self.program_ns, 1)


def way_to_ops(trace: Trace, thread: int, time: IntervalSet) -> WayToOps | None:
    """Whose code some time is spent in; None where no frame tells of most of it.

    Args:
        trace: The trace.
        thread: Row in `trace.threads`.
        time: Where to look.
    """
    python = trace.python
    rows = np.flatnonzero((python["thread"] == thread).to_numpy())
    start, end = (python[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    inside = time.overlap_with(start, end)
    rows, start, end, inside = rows[inside > 0], start[inside > 0], end[inside > 0], inside[inside > 0]
    if not len(rows):
        return None
    nesting = nest(np.full(len(rows), thread), start, end)
    parent = nesting.parent.astype(np.int64)
    nested = parent != np.arange(len(rows))
    within = time.overlap_with(start, np.minimum(end, end[parent]))
    own = inside - np.bincount(parent[nested], weights=within[nested], minlength=len(rows)).astype(np.int64)
    names = distinct_texts(python["name"])
    own_lines = own_code(trace)
    kinds = np.array([_kind(name, own_lines) for name in names], dtype=np.int64)
    kind = _of_callers(kinds[codes_of(python["name"])[rows]], parent, nesting.depth.astype(np.int64))
    of_torch, of_program = (int(np.maximum(own[kind == one], 0).sum()) for one in (_TORCHS, _PROGRAMS))
    return WayToOps(of_torch, of_program) if 2 * (of_torch + of_program) > time.total_ns else None


def _kind(name: str, own: OwnCode) -> int:
    if _TORCH.match(name) is not None:
        return _TORCHS
    return _PROGRAMS if own.line(name) is not None else _CALLERS


def _of_callers(kind: Int64Array, parent: Int64Array, depth: Int64Array) -> Int64Array:
    """Each frame's kind, or that of the nearest caller that has one; shape (n,)."""
    found = kind.copy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        open_ones = np.flatnonzero((depth == level) & (found == _CALLERS))
        found[open_ones] = found[parent[open_ones]]
    return found
