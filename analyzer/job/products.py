"""How much the products of each step have to compute, by the shapes of their ops: more work of a rank in one step shows by it."""

from __future__ import annotations

import numpy as np

from analyzer.facts import Facts
from analyzer.hardware.work import PRODUCTS
from analyzer.spans.arrays import FloatArray
from analyzer.spans.labels import matching


def products_of_steps(facts: Facts, work: FloatArray) -> tuple[float | None, ...]:
    """Floating-point operations of the products of each used step; None without any of known shapes.

    Args:
        facts: The measurements.
        work: What each op has to do, NaN where unknown, shape (ops,).
    """
    tree = facts.host.ops
    product = matching(tree.ops["name"], PRODUCTS.__contains__)
    counted = tree.outermost(product & ~np.isnan(work))
    step = facts.steps.of_host(tree.ops["start_ns"].to_numpy()[counted])
    inside = step >= 0
    summed = np.bincount(step[inside], weights=work[counted][inside], minlength=facts.steps.count)
    return tuple(flops if flops > 0 else None for flops in summed.tolist())
