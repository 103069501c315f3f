"""Evidence and counts that rules on device kernels share."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.op_tree import BoolArray
from analyzer.finding import Column, Saving, Table
from analyzer.intervals import IntervalSet

# A kernel's name with its template arguments may be thousands of characters long; the beginning identifies it.
_NAME_LENGTH = 100


def kernel_table(facts: Facts, rows: BoolArray, title: str) -> Table:
    """The kernels that take most of the time of the given ones."""
    steps = max(facts.used_steps, 1)
    return Table(
        title,
        (Column("kernel", "text"), Column("calls a step", "count"), Column("time a step", "ns")),
        tuple(
            (name[:_NAME_LENGTH], round(number / steps, 1), total / steps)
            for name, number, total in facts.kernels.longest(rows)
        ),
    )


def steps_touched(facts: Facts, spans: IntervalSet) -> int:
    """Used steps that hold any of the given time."""
    used = facts.steps.used
    return int((spans.overlap_with(used["start_ns"].to_numpy(), used["end_ns"].to_numpy()) > 0).sum())


def steps_with(facts: Facts, rows: BoolArray) -> int:
    """Used steps in which any of the given kernels runs."""
    return steps_touched(facts, facts.kernels.spans(rows))


def kernel_saving(facts: Facts, kernel_ns: float, basis: str) -> Saving:
    """A saving of device-busy time; where the device waits for each launch it is none, and says so.

    Args:
        facts: The measurements.
        kernel_ns: By how much kernels would get shorter over all used steps.
        basis: Which time this is and what it assumes.
    """
    if facts.launch_bound:
        basis += "; nothing as long as the device waits for each launch"
    return Saving(kernel_ns=facts.kernel_gain_ns(kernel_ns), basis=basis)
