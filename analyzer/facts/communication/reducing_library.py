"""Which library reduces gradients in its own way, by frames of Python."""

from __future__ import annotations

import re

from analyzer.spans.labels import distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# Their own modules, not the folder a script lies in; torch cuts the part of a path that is on `sys.path`.
_REDUCES = Pattern(
    r"(?:.*[/\\](?:site|dist)-packages[/\\])?(deepspeed[/\\]runtime|horovod[/\\]torch)[/\\][^(]*\.py\(\d+\): "
)


def reducing_library(trace: Trace) -> str | None:
    """`deepspeed` or `horovod`; None where neither shows, as without stacks."""
    for name in distinct_texts(trace.python["name"]):
        # A frame has hundreds of places in which the pattern would look for a folder.
        if ("deepspeed" in name or "horovod" in name) and (match := _REDUCES.match(name)):
            return re.split(r"[/\\]", match[1])[0]
    return None
