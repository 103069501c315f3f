"""Time by name: of kernels, of ops on the host, and of the device by the operator that asks for its work.

Kernels are named by whoever wrote them: another device, version or fused operator has others, and all of them look new. What the
program asks for keeps its name.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts import Facts
from analyzer.facts.host.asking import asking, operator_name
from analyzer.facts.host.ops import pick_row
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE

# Of each kind: what changed most is among what takes most.
_TOP_ROWS = 200


def kernel_times(facts: Facts) -> dict[str, float]:
    """Device nanoseconds a step by kernel name, the longest first."""
    kernels = facts.trace.kernels
    inside = facts.steps.window.contains(kernels["start_ns"].to_numpy())
    return _totals(kernels["name"].astype("str").to_numpy()[inside], kernels["dur_ns"].to_numpy()[inside], facts)


def op_self_times(facts: Facts) -> dict[str, float]:
    """Host nanoseconds a step by op name, inside an op and outside the ops and runtime calls below it; the longest first."""
    ops, parent = facts.trace.ops, facts.host.ops.parent
    duration = ops["dur_ns"].to_numpy().astype(np.float64)
    inner = parent != np.arange(len(ops))
    below = np.bincount(parent[inner], weights=duration[inner], minlength=len(ops))
    inside = facts.steps.host_window.contains(ops["start_ns"].to_numpy())
    return _totals(ops["name"].astype("str").to_numpy()[inside], np.maximum(duration - below, 0)[inside], facts)


def operator_times(facts: Facts) -> dict[str, float] | None:
    """Device nanoseconds a step by the operator that asks for them, the longest first; None where nothing says.

    Collectives are left out: those of gradients are begun inside whichever node comes last before them.
    """
    kernels = facts.kernels.named
    launching = kernels.frame["op"].to_numpy()
    known = (launching != NONE) & ~kernels.collective
    if not known.any():
        return None
    tree = facts.host.ops
    rows = pick_row(asking(tree), launching[known])
    distinct = np.array([operator_name(name) for name in distinct_texts(tree.ops["name"])], dtype=object)
    return _totals(distinct[codes_of(tree.ops["name"])[rows]], kernels.frame["dur_ns"].to_numpy()[known], facts)


def _totals(names: object, duration: object, facts: Facts) -> dict[str, float]:
    per_name = pd.DataFrame({"name": names, "ns": duration}).groupby("name", sort=True)["ns"].sum()
    longest = per_name.sort_values(ascending=False, kind="stable").head(_TOP_ROWS)
    return {str(name): facts.steps.per_step(float(ns)) for name, ns in longest.items()}
