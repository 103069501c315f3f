"""What a batch from a worker costs the process that trains, beside what making it costs the worker."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.units import duration

# A batch that was ready took 0.07 to 0.1 ms in recordings of a server, and 0.8 to 2.5 ms, of one to four tensors, on two cores of
# a virtual machine (torch 2.15).
_MAY_COST_AS_MUCH_NS = 1_000_000


def handed_over_as_slowly(facts: Facts) -> bool:
    """Whether getting a batch from a worker takes as long here as making it: each of its tensors comes through a socket."""
    bound = facts.input.with_workers
    return bound.hand_over_ns is not None and bound.hand_over_ns >= bound.load_ns


def costs(facts: Facts) -> str:
    """A sentence on what getting a batch costs, to put behind others; empty where that is little beside making it."""
    bound = facts.input.with_workers
    if bound.hand_over_ns is not None:
        if 2 * bound.hand_over_ns < bound.load_ns:
            return ""
        return f" Getting a batch from a worker takes the training process {duration(bound.hand_over_ns)} here, as measured."
    if bound.load_ns >= _MAY_COST_AS_MUCH_NS:
        return ""
    return (
        f" Getting a batch from a worker takes the training process 0.1 to 2 ms, by machine: one that is made in "
        f"{duration(bound.load_ns)} may come later so."
    )
