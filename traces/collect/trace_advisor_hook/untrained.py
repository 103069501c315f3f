"""Parameters that backward passes hand gradients to and no optimizer updates: of a teacher, or of a model that was to be frozen.

The graph of a pass is walked before it runs, in the first passes alone: a walk is as long as the graph.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from .common import FAILURES

# The first pass may be of another kind, as a trial; three in a row hold each of a GAN's.
_PASSES = range(2, 5)
# A graph of more takes as long to walk as a step.
_MOST_NODES = 20_000


class Untrained:
    """Follows which leaves get gradients, and which optimizers step."""

    def __init__(self) -> None:
        self.passes = 0
        self.leaves: dict[int, tuple[int, bool]] | None = {}
        self.optimizers: dict[int, weakref.ref[Any]] = {}

    def before_backward(self, *given: Any, **named: Any) -> None:
        """A backward pass is about to run, with these arguments; one to chosen `inputs` hands nothing to other leaves."""
        self.passes += 1
        if self.passes not in _PASSES or self.leaves is None or named.get("inputs") is not None:
            return
        roots = given[0] if given else named.get("tensors")
        with contextlib.suppress(*FAILURES):
            found = _leaves(roots if isinstance(roots, (list, tuple)) else [roots])
            self.leaves = None if found is None else {**self.leaves, **found}

    def after_optimizer(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if id(optimizer) not in self.optimizers:
            # Not by a reference that keeps those of earlier folds.
            with contextlib.suppress(TypeError):
                self.optimizers[id(optimizer)] = weakref.ref(optimizer)

    def told(self, size: int) -> dict[str, int] | None:
        """Tensors and numbers that get gradients for nothing, and all; None where that is not known.

        Optimizers with weights of their own (sharded, or in more bits) update none of the leaves, or other tensors of a job.

        Args:
            size: World size of the job.
        """
        alive = [optimizer for ref in self.optimizers.values() if (optimizer := ref()) is not None]
        trained = {id(one) for optimizer in alive for group in optimizer.param_groups for one in group["params"]}
        if not self.leaves or size > 1 or trained.isdisjoint(self.leaves):
            return None
        untrained = [numbers for one, (numbers, parameter) in self.leaves.items() if parameter and one not in trained]
        return {
            "tensors": len(untrained),
            "numbers": sum(untrained),
            "of_tensors": len(self.leaves),
            "of_numbers": sum(numbers for numbers, _ in self.leaves.values()),
        }


def _leaves(roots: Any) -> dict[int, tuple[int, bool]] | None:
    """Size of each leaf that roots lead back to, by identity, and whether it is a parameter; None where the graph is too large."""
    waiting = [node for root in roots if (node := getattr(root, "grad_fn", None)) is not None]
    seen = set(waiting)
    found: dict[int, tuple[int, bool]] = {}
    while waiting:
        if len(seen) > _MOST_NODES:
            return None
        node = waiting.pop()
        # A function of the program's own may keep anything under that name.
        if type(node).__name__ == "AccumulateGrad":
            leaf = node.variable
            found[id(leaf)] = (leaf.numel(), type(leaf).__name__ == "Parameter")
        following = [one for one, _ in node.next_functions if one is not None and one not in seen]
        seen.update(following)
        waiting += following
    return found
