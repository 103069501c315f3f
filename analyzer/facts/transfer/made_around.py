"""Host time of a tensor that is made and sent: the move, the ops that make and hand it over beside it, and the Python between them.

`torch.tensor(n, device="cuda")` is `aten::empty`, `aten::to`, `aten::lift_fresh` and `aten::detach_`, and some Python before each.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.beside import beside
from analyzer.facts.host.section import HostFacts
from analyzer.facts.transfer.copies import Copies
from analyzer.facts.transfer.made_on_host import outermost_move
from analyzer.spans.intervals import EMPTY, IntervalSet
from traces.patterns import Pattern

_MAKES = Pattern(
    r"aten::(?:empty\w*|new_\w+|zeros|ones|full|arange|scalar_tensor|fill_|zero_|resize_|set_|from_file|alias|lift\w*|detach_?"
    r"|view|reshape|unsqueeze)$"
)


def made_around(host: HostFacts, copies: Copies) -> IntervalSet:
    """From the op before a tensor is made to the op behind it, with Python as far as `beside` counts it.

    Args:
        host: What the host's threads do.
        copies: Copies to the device.
    """
    known, tree = copies.with_call, host.ops
    if not len(known):
        return EMPTY
    inner = tree.enclosing(known["call_thread"].to_numpy(np.int64), known["call_start_ns"].to_numpy(np.int64))
    return beside(tree, outermost_move(tree, inner), _MAKES, python=True)
