"""Which conversions autocast makes: an op that it handles converts its inputs, and is then called once more inside itself."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.precision import Casts
from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import codes_of
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import is_backward_node

_TO = "aten::to"
# Input, weight and mostly a bias where all are converted; else one.
_SEVERAL = 1.5
_COPIES = (_TO, "aten::_to_copy", "aten::copy_")


class Autocasts(msgspec.Struct, frozen=True):
    """Conversions that autocast asks for.

    Args:
        ratio: Their share of the time of conversions outside the backward pass; 0 where there are none.
        of_weights: Whether ops convert more than one input each, and so their weights. Of a single one it is not known which it is.
    """

    ratio: float
    of_weights: bool


def autocasts(host: HostFacts, kernels: Kernels, casts: Casts) -> Autocasts:
    """Finds them.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
        casts: Which of them convert.
    """
    tree = host.ops
    name = codes_of(tree.ops["name"])
    # torch 1.8 wrote every op twice, one inside the other: of copies that says nothing.
    copies = tree.named(_COPIES.__contains__)
    again = (tree.parent != np.arange(len(tree.parent))) & (name == name[tree.parent]) & ~copies
    handled = np.zeros(len(name), dtype=bool)
    handled[tree.parent[again]] = True
    asked = np.append(tree.nearest(tree.named(_TO.__eq__) & handled[tree.parent]), NONE)
    at = kernels.frame["op"].to_numpy(np.int64)
    forward: BoolArray = casts.rows & ~pick(tree.under(tree.named(is_backward_node)), at)
    own: BoolArray = forward & (asked[at] != NONE)
    inputs = np.unique(asked[at[own]])
    ops = np.unique(tree.parent[inputs])
    ratio = kernels.time_ns(own) / max(kernels.time_ns(forward), 1)
    return Autocasts(ratio, of_weights=len(inputs) >= _SEVERAL * max(len(ops), 1))
