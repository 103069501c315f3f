"""What is sent to the device right behind the op that computed it on the host: no loader made it, and no loader can pin it."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.dispatch_owner import OWN_WORK_ALONE_NS
from analyzer.facts.host.section import HostFacts
from analyzer.facts.transfer.copies import Copies
from analyzer.facts.transfer.made_on_host import outermost_move
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.trace import Trace

# What only moves or converts what is there: weights that are kept on the host may pass through it on their way.
_PASSES_ON = Pattern(r"aten::(?:to|_to_copy|cat|concat|stack|dequantize)$")
# What computes nothing: a batch of a loader may be pinned, or copied, by the program itself.
_ONLY_COPIES = Pattern(r"aten::(?:copy_|clone|contiguous|_?pin_memory)$")
# Of the bytes sent, for the copies as a whole to be of that kind, and for a part of them that is worth a word.
_MOST, _PART = 0.5, 0.25


def makes(name: str | None) -> bool:
    """Whether an op that computes what is sent makes it anew each time; None stands for no op."""
    return name is not None and _PASSES_ON.match(name) is None


class Computed(msgspec.Struct, frozen=True):
    """What the host computes and sends at once.

    Args:
        name: The op that computes most of it.
        ratio: Share of all bytes sent, 0..1.
    """

    name: str
    ratio: float

    @property
    def is_most(self) -> bool:
        """Whether the copies as a whole are of that kind."""
        return self.ratio > _MOST

    @property
    def is_a_part(self) -> bool:
        """Whether they are partly of that kind: much beside what may be batches."""
        return _PART <= self.ratio <= _MOST


def computed_on_host(trace: Trace, host: HostFacts, sent: Copies) -> Computed | None:
    """What ops on the host compute of what is sent, each time just before it is; None where they compute nothing of it.

    Args:
        trace: The trace.
        host: What the host's threads do.
        sent: Copies to the device.
    """
    copies = sent.with_call
    ops, tree = trace.ops, host.ops
    total = sent.bytes
    if not len(copies) or not len(ops) or not total:
        return None
    called = copies["call_start_ns"].to_numpy(np.int64)
    inner = tree.enclosing(copies["call_thread"].to_numpy(np.int64), called)
    before = tree.before(outermost_move(tree, inner))
    # What the program called, around the last op inside it.
    parent = np.append(tree.parent, NONE)
    root = before
    while (parent[root] != root).any():
        root = parent[root]
    start, end = (np.append(ops[name].to_numpy(), 0)[root] for name in ("start_ns", "end_ns"))
    loading = IntervalSet.of_rows(trace.annotations, is_any(trace.annotations["kind"], "loader"))
    launched = np.sort(trace.runtime["start_ns"].to_numpy(), kind="stable")
    quiet = np.searchsorted(launched, start) == np.searchsorted(launched, end)
    copies_only = np.append(tree.named(lambda name: _ONLY_COPIES.match(name) is not None), False)[root]
    found = (root != NONE) & ~copies_only & (end - start >= OWN_WORK_ALONE_NS) & quiet & ~loading.contains(start)
    size = copies["size_bytes"].to_numpy(dtype=np.int64, na_value=0)
    if not size[found].sum():
        return None
    names = distinct_texts(ops["name"])
    each = np.bincount(codes_of(ops["name"])[root[found]], weights=size[found], minlength=len(names))
    return Computed(str(names[int(np.argmax(each))]), float(size[found].sum() / total))
