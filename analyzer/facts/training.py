"""Whether a trace shows training: what is otherwise only served, or evaluated, has neither of the two."""

from __future__ import annotations

from traces.reader.vocabulary import is_backward_node
from traces.trace import Trace


def trains(trace: Trace) -> bool:
    """Whether an optimizer steps or a backward pass runs (an optimizer of the program's own leaves no range)."""
    return bool((trace.annotations["kind"] == "optimizer_step").any()) or any(
        is_backward_node(str(name)) for name in trace.ops["name"].cat.categories
    )
