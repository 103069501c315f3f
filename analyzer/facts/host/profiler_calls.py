"""What a profiler does on the threads that it records, as stacks show it: nothing of that is the program's."""

from __future__ import annotations

from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

# torch's two profilers, by file, and the collector's own frames. Its way in holds the whole script, and its wrappers what they
# wrap: what those do themselves is next to nothing, and what is inside of them the program's.
_PROFILER = Pattern(
    r"(?:.*[/\\])?torch[/\\](?:autograd[/\\]profiler|profiler[/\\]\w+)\.py\(\d+\): "
    r"(?:start\w*|stop\w*|step|__enter__|__exit__|_?prepare_trace|_start_trace|_transit_action|export_chrome_trace|_fn|toggle\w*)$"
    r"|(?:.*[/\\])?trace_advisor_hook(?![/\\](?:__main__|entry|wrapping|loader[/\\]batch_parts|trial[/\\]\w+)\.py)"
    r"(?:[/\\]\w+)*\.py\("
)


def profiler_calls(trace: Trace, main: int | None) -> IntervalSet:
    """Time inside calls of a profiler; empty without stacks.

    Args:
        trace: The trace.
        main: Row in `trace.threads` of the training thread, beside which a thread of the collector's samples; None for any thread.
    """
    rows = matching(trace.python["name"], lambda name: _PROFILER.match(name) is not None)
    return IntervalSet.of_rows(
        trace.python, rows if main is None else rows & (trace.python["thread"] == main).to_numpy()
    )
