"""Dense gradients of lookups whose shapes were not recorded, told by how long they take beside the lookups.

A lookup writes the rows that a batch names, and its gradient is filled with zeros row by row before those are added: both write
memory that was just taken, so that the one takes as much longer than the other as the table has more rows. What a call costs by
itself makes the lookups longer, and so the share of the rows rather too large.
"""

from __future__ import annotations

import msgspec

from analyzer.facts.host.ops import pick
from analyzer.facts.host.section import HostFacts
from analyzer.facts.model.dense_tables import DENSE
from analyzer.facts.model.optimizing import Optimizing
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from analyzer.spans.open_spans import NONE

_LOOKUPS = ("aten::embedding", "aten::embedding_bag", "aten::_embedding_bag")
# How autograd adds up the gradients of a weight that is used twice, or of several passes.
_SUMS = ("aten::add", "aten::add_")
# An op that passes over a whole table reads as much as filling it writes; with other memory it may take half as long.
_AS_LONG = 0.5


class TimedTables(msgspec.Struct, frozen=True):
    """The dense gradients of the used steps, all together.

    Args:
        gradients: When the ops run that make them.
        fills: When those of them run that fill them with zeros.
        fill_ns: How long they fill.
        lookup_ns: How long the same steps' lookups take.
        summed: Whether the backward pass adds something up that takes as long as filling a table: a second gradient of its weight.
        passes: Names of the ops right inside the optimizer's steps.
    """

    gradients: IntervalSet
    fills: IntervalSet
    fill_ns: int
    lookup_ns: int
    summed: bool
    passes: frozenset[str]

    @property
    def touched_ratio(self) -> float:
        """Share of the rows that a batch looks up, rather too large."""
        return min(1.0, self.lookup_ns / self.fill_ns) if self.fill_ns else 1.0


def timed_tables(host: HostFacts, steps: Steps, optimizing: Optimizing) -> TimedTables:
    """Measures them.

    Args:
        host: Ops.
        steps: The steps.
        optimizing: The optimizer's spans.
    """
    tree = host.ops
    start, end = tree.ops["start_ns"].to_numpy(), tree.ops["end_ns"].to_numpy()
    inside, updating = steps.host_window.contains(start), optimizing.step_time.contains(start)
    made = tree.outermost(is_any(tree.ops["name"], *DENSE)) & inside
    fills = tree.outermost(is_any(tree.ops["name"], "aten::zero_")) & pick(made, tree.nearest(made))
    lookups = tree.outermost(is_any(tree.ops["name"], *_LOOKUPS)) & inside
    sums = is_any(tree.ops["name"], *_SUMS) & inside & ~updating & (tree.nearest(made) == NONE)
    lasting = (end - start)[fills]
    longest = int(lasting.max()) if len(lasting) else 0
    return TimedTables(
        gradients=IntervalSet(start[made], end[made]),
        fills=IntervalSet(start[fills], end[fills]),
        fill_ns=int(lasting.sum()),
        lookup_ns=int((end - start)[lookups].sum()),
        summed=bool((sums & (end - start >= _AS_LONG * longest)).any()),
        passes=frozenset(tree.ops["name"][tree.outermost(updating & inside)].astype(str)),
    )
