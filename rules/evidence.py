"""Evidence and counts that rules on device kernels share."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.finding import Column, Figure, Saving, Shortened, Table
from analyzer.page.words.kernel_names import short
from analyzer.spans.arrays import BoolArray
from analyzer.units import share

# Share of a misaligned product's time that goes where its sizes are padded: a factor of one and a half is usual (rules.md PR003).
PADDED_RATIO = 1 / 3
# Longer names tell no more.
_NAME_LENGTH = 100
# Kernels in a table.
_SHOWN = 5
# A share below rounds to nothing.
_WORTH_SAYING = 0.01


def kernel_table(facts: Facts, rows: BoolArray, title: str) -> Table:
    """The kernels that take most of the time of the given ones, each with all of them that are shown under one name."""
    steps = max(facts.steps.count, 1)
    found: dict[str, tuple[int, int]] = {}
    for name, number, total in facts.kernels.named.longest(rows, None):
        # Instances of one template may differ in the size of their blocks alone: a figure beside the name counts all of them.
        shown = short(name)[:_NAME_LENGTH]
        calls, time = found.get(shown, (0, 0))
        found[shown] = (calls + number, time + total)
    return Table(
        title,
        (Column("kernel", "text"), Column("calls a step", "count"), Column("time a step", "ns")),
        tuple(
            (name, round(calls / steps, 1), time / steps)
            for name, (calls, time) in sorted(found.items(), key=lambda one: -one[1][1])[:_SHOWN]
        ),
    )


def steps_with(facts: Facts, rows: BoolArray) -> int:
    """Used steps in which any of the given kernels runs."""
    return facts.steps.count_with(facts.kernels.named.spans(rows))


def kernel_saving(
    facts: Facts,
    kernel_ns: float,
    basis: str,
    *,
    of: Sequence[tuple[BoolArray, float]] = (),
    usual_ns: float | None = None,
    way: str = "",
    kind: Figure = Figure.BOUND,
) -> Saving:
    """A saving of device-busy time: all of it as the bound, and beside it what usually reaches the clock.

    Args:
        facts: The measurements.
        kernel_ns: By how much kernels would get shorter over all used steps, at most.
        basis: Which time this is and what it assumes.
        of: Which kernels, each time with the share of their time that goes, so that others' savings of them count once.
        usual_ns: By how much they usually get shorter; as much as at most where nothing is known.
        way: By what means; see `Shortened`.
        kind: An estimate where other kernels get faster, too.
    """
    # What runs beside the critical path of a replay may still slow down what is on it: it stays in the bound.
    beside = facts.kernels.graph_paths.beside_ratio(of)
    reach = facts.time.kernel_gain_ns((kernel_ns if usual_ns is None else usual_ns) * (1 - beside))
    return Saving(
        kernel_ns=int(kernel_ns),
        basis=f"{basis}; {_beside(beside)}{reaching(facts)}",
        usual_kernel_ns=min(reach, int(kernel_ns)),
        shortened=tuple(Shortened(facts.kernels.named.spans(rows), ratio, way) for rows, ratio in of),
        kind=kind,
    )


def _beside(ratio: float) -> str:
    """What of the time is likely to bring nothing, as part of a basis; empty below what a share shows."""
    if ratio < _WORTH_SAYING:
        return ""
    return (
        f"{share(ratio)} of it runs beside the critical path of replayed CUDA graphs, which would hardly end earlier; "
    )


def reaching(facts: Facts) -> str:
    """What usually comes true of faster kernels, as part of a basis."""
    if facts.time.launch_bound:
        return "little of it is likely, because the device waits for each launch: only what the host waits for counts"
    return "the part is likely in which the device is what the step waits for"
