"""Kernels that select rows for the program itself: `index_select` on its own, and not inside the lookup of an embedding."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.spans.arrays import BoolArray
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

_SELECT = Pattern(r"aten::index_select$")
# `torch.nn.functional.embedding` selects rows of its table by the same op.
_LOOKUP = Pattern(r"aten::_?embedding")


def row_selects(host: HostFacts, kernels: Kernels) -> BoolArray:
    """Which kernels an `index_select` launches that no lookup of an embedding calls, shape (kernels,).

    Args:
        host: What the host's threads do.
        kernels: The kernels of the used steps.
    """
    ops = kernels.frame["op"].to_numpy()

    def inside(pattern: Pattern[str]) -> BoolArray:
        named = host.ops.named(lambda name: pattern.match(name) is not None)
        found: BoolArray = np.asarray(pick_row(host.ops.nearest(named), ops) != NONE)
        return found

    return inside(_SELECT) & ~inside(_LOOKUP)
