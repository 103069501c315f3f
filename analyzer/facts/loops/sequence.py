"""The ops that the program itself calls, in order: what its loops are looked for in."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.tree import HostTree
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.nesting import at_an_end
from traces.patterns import Pattern

_BACKWARD_FUNCTION = Pattern(r"\w*Backward\d*$")
# FSDP2 marks what it does before and behind each unit (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
_OF_UNITS = Pattern(r"FSDP::")


def sequence(steps: Steps, tree: HostTree, host: HostFacts) -> tuple[Int64Array, Int64Array]:
    """Ops that the program itself calls, in order, each with its group (thread, parent and step)."""
    frame = tree.frame
    others = ["loader", "optimizer_step", "zero_grad", "compile"]
    ranges = is_any(frame["kind"], *others) | matching(frame["name"], _OF_UNITS.match)
    excluded = tree.under(ranges & tree.of_source("annotations"))
    ops = tree.of_source("ops")
    names = distinct_texts(frame["name"])
    # Only ops of the framework hide their loops; a range, or a function of the user's own, shows the program's.
    hiding = np.array(["::" in name or _BACKWARD_FUNCTION.match(name) is not None for name in names], dtype=bool)
    root = tree.parent == np.arange(len(tree.parent))
    above_hides = ops.take(tree.parent) & hiding.take(codes_of(frame["name"])).take(tree.parent) & ~root
    start = frame["start_ns"].to_numpy()
    wanted = ops & ~excluded & ~above_hides & steps.host_window.contains(start)
    rows = np.flatnonzero(wanted)
    rows = rows[~_in_collectives(host, frame["thread"].to_numpy()[rows], start[rows])]
    parent = np.where(root[rows], -1, tree.parent[rows])
    step = steps.of_host(start[rows])
    thread = frame["thread"].to_numpy()[rows]
    order = np.lexsort((start[rows], parent, step, thread))
    changed = np.zeros(max(len(order) - 1, 0), dtype=bool)
    for key in (thread, step, parent):
        ordered = key[order]
        changed |= ordered[1:] != ordered[:-1]
    group = np.concatenate([[0], np.cumsum(changed)]) if len(order) else np.empty(0, dtype=np.int64)
    placed = ~at_an_end(start[rows][order], frame["end_ns"].to_numpy()[rows][order], group)
    return rows[order][placed], group[placed]


def _in_collectives(host: HostFacts, thread: Int64Array, start: Int64Array) -> BoolArray:
    """What begins inside a collective that a thread of a library's own runs (gloo copies what it has gathered), shape (rows,)."""
    found = np.zeros(len(thread), dtype=np.bool_)
    for one in np.unique(thread).tolist():
        if one != host.main_thread and (running := host.threads.during("collectives", one)):
            mine = thread == one
            found[mine] = running.contains(start[mine])
    return found
