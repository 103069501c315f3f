"""One loop over tensors, and whether a batched call could stand for it."""

from __future__ import annotations

import msgspec

from analyzer.facts.loops.cells import cell_of, like_a_cell, like_a_scan, stepped_layer
from analyzer.facts.loops.expert_calls import routes_rows
from analyzer.spans.intervals import EMPTY, IntervalSet

# One op that repeats over different tensors is too common to be called a loop: copies, clones and views inside the framework.
MIN_UNIT = 2
# A longer sequence that takes no elements is as well a block of a model, of ops that no list of layers names.
_MAX_LIST_UNIT = 16


class Loop(msgspec.Struct, frozen=True):
    """One repeated unit of ops, over all used steps.

    Args:
        unit: Names of its ops, in order.
        indexed: Whether it takes or writes elements of a tensor.
        of_layers: Whether it holds an op of a layer: repeated layers and recurrences are the model's own.
        numbered: Whether numbers join its ops to the backward pass: where they do and `backward` is empty, no gradient comes back.
        independent: Whether it is products alone of which none can be made of another: those are no layers of one model.
        phase: `before` (the model's first layer), `loss` (between its last layer and the backward pass), `forward`, `after`
            (behind the backward pass) or `step` (no backward pass).
        repeats: Repetitions in all used steps.
        runs: Runs of repetitions in all used steps.
        steps_seen: Used steps with such a run.
        thread: Row in `trace.threads`.
        forward: Time of the runs themselves.
        backward: Time of the backward pass that belongs to them (by sequence numbers).
        ops: Ops directly in the runs.
        op_ns: Time inside these ops.
        pauses: Between ops of a run, where none begins for a millisecond: what the program does there is not calling ops.
        usual_op_ns: Mean time of one op, without those that took far longer than others of their name.
        varies: Whether turns are not all alike: a branch in the loop. `unit` is the commonest turn then.
        in_some_turns: Names of the ops that other turns have and the commonest has not, in the order in which they come. The
            commonest turn of a loop over masks may be the one that finds nothing to take.
        most_values: The most values that an argument of one of its ops has, but of those that take elements; None where shapes do
            not tell.
    """

    unit: tuple[str, ...]
    indexed: bool
    of_layers: bool
    phase: str
    repeats: int
    runs: int
    steps_seen: int
    thread: int
    forward: IntervalSet
    backward: IntervalSet
    ops: int
    op_ns: int
    usual_op_ns: float
    pauses: IntervalSet = EMPTY
    varies: bool = False
    in_some_turns: tuple[str, ...] = ()
    independent: bool = False
    numbered: bool = False
    most_values: int | None = None

    @property
    def spans(self) -> IntervalSet:
        """All time of the loop on the host."""
        return self.forward | self.backward

    @property
    def calling(self) -> IntervalSet:
        """What one call for all could stand for; what a turn through elements does between its ops is vectorised with it."""
        return self.spans - self.pauses if self.over_list else self.spans

    @property
    def avoidable(self) -> bool:
        """Whether one call could do what the loop does: through elements, or at least two ops long, and no layers.

        One product for all, where none needs another.
        """
        return self.independent or (not self.of_layers and (self.indexed or len(self.unit) >= MIN_UNIT))

    @property
    def over_list(self) -> bool:
        """Small ops of the program's own: no elements, no layer, no norms, nothing of a library's internals."""
        ours = all(name.startswith("aten::") for name in self.unit)
        norms = any("norm" in name for name in self.unit)
        short = len(self.unit) <= _MAX_LIST_UNIT
        return ours and short and not norms and not self.indexed and self.avoidable

    @property
    def steps_a_cell(self) -> bool:
        """Whether it calls a recurrent cell, or what looks like one, turn by turn."""
        if not self.of_layers or self.independent or self.phase == "after":
            return False
        known = cell_of(self.unit) or stepped_layer(self.unit, indexed=self.indexed)
        return known is not None or like_a_cell(self.unit, indexed=self.indexed) or self.scans

    @property
    def scans(self) -> bool:
        """Whether its layers look like a linear recurrence, as of a state space."""
        return self.of_layers and not self.independent and like_a_scan(self.unit, indexed=self.indexed)

    @property
    def calls_experts(self) -> bool:
        """Whether it sends rows through layers group by group."""
        return self.of_layers and self.phase != "after" and routes_rows(self.unit)

    @property
    def avoidable_ratio(self) -> float:
        """The part that one batched call instead of n makes unnecessary: 1 - 1/n."""
        return 1.0 - self.runs / self.repeats if self.repeats else 0.0


def mostly_claimed(calling: IntervalSet, outside: IntervalSet, claims: IntervalSet) -> bool:
    """Whether rules have found a loop: what they claim of it lies outside ops, and the ops in between are told with it.

    Args:
        calling: When the loop calls its ops.
        outside: Time outside any op.
        claims: Time that rules claim.
    """
    own = calling & outside
    return bool(own) and 2 * (own & claims).total_ns > own.total_ns
