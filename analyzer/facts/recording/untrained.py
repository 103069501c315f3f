"""Parameters that get gradients and that no optimizer updates, as far as `advisor collect` saw."""

from __future__ import annotations

import msgspec

from analyzer.facts.recording.stated import dict_of, int_of
from traces.trace import Meta


class Untrained(msgspec.Struct, frozen=True):
    """Of the tensors that a backward pass hands gradients to, those that no optimizer updates.

    Args:
        tensors: How many there are.
        of_tensors: How many get gradients in all.
        ratio: Share of the numbers in them.
        nodes: By name of a node of the backward pass one digit for each in a pass, in the order in which they run: 2 leads to no
            parameter that is updated, 1 does with one of its two products, 0 with all it computes. Names of zeros are left out.
        dropped: Tensors whose gradient some pass of a step makes and that is dropped before their optimizer steps.
        of_input: Of these, those that a pass for the gradient of an input does so.
        passes: Where passes of a step differ so, for each of them what `nodes` says, in the order in which they run.
    """

    tensors: int
    of_tensors: int
    ratio: float
    nodes: dict[str, str] = {}
    dropped: int = 0
    of_input: int = 0
    passes: tuple[dict[str, str], ...] = ()

    @property
    def marks(self) -> tuple[dict[str, str], ...]:
        """What is known of each pass of a step; one entry where all are alike, none where nothing is known."""
        return self.passes or ((self.nodes,) if self.nodes else ())


def untrained(meta: Meta) -> Untrained | None:
    """Reads what the recording says; None where it says nothing, or nothing that can be."""
    told = dict_of(dict_of(meta.advisor.get("model")).get("untrained"))
    tensors, numbers = int_of(told.get("tensors")), int_of(told.get("numbers"))
    of_tensors, of_numbers = int_of(told.get("of_tensors")), int_of(told.get("of_numbers"))
    if not 0 <= tensors < of_tensors or not 0 <= numbers <= of_numbers or not of_numbers:
        return None
    listed = told.get("passes")
    passes = tuple(_marks(one) for one in listed) if isinstance(listed, list) else ()
    dropped = int_of(told.get("dropped"))
    if not any(passes) or not 0 < dropped <= of_tensors:
        dropped, passes = 0, ()
    of_input = max(0, min(int_of(told.get("of_input")), dropped))
    return Untrained(tensors, of_tensors, numbers / of_numbers, _marks(told.get("nodes")), dropped, of_input, passes)


def _marks(told: object) -> dict[str, str]:
    return {
        name: text for name, text in dict_of(told).items() if isinstance(text, str) and text and not text.strip("012")
    }
