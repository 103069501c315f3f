"""Which modules FSDP2 shards by themselves, by the ranges it leaves around gathering them: blocks, or the layers in these."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from analyzer.spans.labels import distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# `FSDPParamGroup.unshard` leaves it, with the path of the module (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
_GATHERED = Pattern(r"FSDP::all_gather \((?P<path>.+)\)$")


class Units(msgspec.Struct, frozen=True):
    """The modules that are gathered by themselves.

    Args:
        paths: Their paths, sorted.
        to_a_block: How many layers of one block are units, the median over blocks; 0 where blocks are units as a whole, whose
            paths end in a number.
        of_one: Those of the block that has most of them.
    """

    paths: tuple[str, ...]
    to_a_block: int
    of_one: tuple[str, ...]


def units(trace: Trace) -> Units:
    """Looks at the gathers of the whole recording; no path where FSDP2 shows none."""
    found = (_GATHERED.match(name) for name in distinct_texts(trace.annotations["name"]))
    paths = sorted(match["path"] for match in found if match is not None)
    layers = [path for path in paths if not path.rpartition(".")[2].isdecimal() and "." in path]
    blocks = Counter(path.rpartition(".")[0] for path in layers)
    most = max(blocks, key=lambda one: blocks[one], default="")
    return Units(
        paths=tuple(paths),
        to_a_block=int(np.median([*blocks.values()])) if blocks else 0,
        of_one=tuple(path for path in layers if path.rpartition(".")[0] == most),
    )
