"""Whether a trace shows training: what is otherwise only served, or evaluated, has neither of the two."""

from __future__ import annotations

import re

from analyzer.spans.labels import is_any
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# Wrappers that exist to reduce gradients over ranks (torch/nn/parallel/distributed.py).
_REDUCES = re.compile(r"DistributedDataParallel\.forward$")


def trains(trace: Trace) -> bool:
    """Whether gradients are made or used: by an optimizer, a backward pass, or a wrapper of the model that reduces them.

    An optimizer of the program's own leaves no range, and a recording may hold the forward pass alone.
    """
    ranges = trace.annotations
    return (
        bool(is_any(ranges["kind"], "optimizer_step", "zero_grad").any())
        or any(_REDUCES.match(str(name)) for name in ranges["name"].cat.categories)
        or any(is_backward_node(str(name)) or _REDUCES.match(str(name)) for name in trace.ops["name"].cat.categories)
    )
