"""Parameters that backward passes hand gradients to and no optimizer updates: of a teacher, or of a model that was to be frozen.

The graph of a pass is walked before it runs, in the first passes alone: a walk is as long as the graph. Which of its nodes lead to
no parameter that is updated is told only once the optimizers are known.

Where optimizers take turns, as those of a GAN, a pass may also hand gradients to parameters of which they are dropped before their
optimizer steps: those of the generator in the discriminator's pass, if the generated batch was not detached. So does a pass that is
run for the gradient of an input, as an attack on the model is. What was dropped, or set to zero, shows when the next pass begins.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from typing import Any

from .common import FAILURES
from .steps.optimizer_turns import MOST_IN_A_ROW

# The first pass may be of another kind, as a trial; three in a row hold each of a GAN's.
_PASSES = range(2, 5)
# Where optimizers take turns, or a step has several passes, two steps of the loop are compared, from the third on: the first whole
# ones once each optimizer has had its turn. A critic may have several turns before the first of another (`OptimizerTurns`), and a
# pass for what is real and one for what is made in each.
_FIRST_ROUND, _ROUNDS = 2, 2
_MOST_PASSES = 48
# A graph of more takes as long to walk as a step.
_MOST_NODES = 20_000
# Nodes of two products, one for the weights and one for the layer before, of which either may be for nothing.
_OF_TWO_PRODUCTS = ("AddmmBackward0", "MmBackward0", "ConvolutionBackward0", "LinearBackward0", "AddbmmBackward0")
_NEEDED, _HALF, _NOTHING = "0", "1", "2"


class _Node:
    """One node of a graph, with the place of what follows it; kept until the optimizers are known, and holds no tensor."""

    def __init__(self, name: str, number: int, leaf: int | None) -> None:
        self.name, self.number, self.leaf = name, number, leaf
        self.following: list[int] = []
        self.vector = False


class _Pass:
    """One backward pass: its graph, the leaves of which what it gave was dropped, and whether an optimizer took any of it.

    Args:
        nodes: The graph.
        of_input: Whether it leads to a tensor that is no parameter: to an input of the model.
    """

    def __init__(self, nodes: list[_Node], *, of_input: bool) -> None:
        self.nodes, self.dropped, self.taken, self.of_input = nodes, set[int](), False, of_input

    def lost(self, step: list[_Pass]) -> set[int]:
        """The leaves that it gave gradients which nobody can have wanted.

        A pass of which nothing was taken has been read by hand, as one for each of several losses, or for a perturbed model; one to
        an input was run for that, unless all passes are: derivatives by the inputs are in the losses.

        Args:
            step: All passes of its step.
        """
        for_input = self.of_input and not any(one.taken and one.of_input for one in step)
        return self.dropped if self.taken or for_input else set()


class Untrained:
    """Follows which leaves get gradients, and which optimizers step; `round` counts the steps of the loop."""

    def __init__(self) -> None:
        self.passes = self.walked = self.round = 0
        # In which step the last pass was, and whether some step had several.
        self.last = -1
        self.several = False
        self.leaves: dict[int, tuple[int, bool]] | None = {}
        # The parameters among them, and what optimizers have updated: an identity is given again once its tensor is gone.
        self.seen: dict[int, weakref.ref[Any]] = {}
        self.updated: dict[int, weakref.ref[Any]] = {}
        self.optimizers: dict[int, weakref.ref[Any]] = {}
        self.graphs: list[list[_Node]] = []
        self._compare_from(_FIRST_ROUND)

    def _compare_from(self, first: int) -> None:
        """Compare the passes of this step of the loop and of the next."""
        self.first = first
        self.rounds: list[list[_Pass]] = [[] for _ in range(_ROUNDS)]
        # Leaves of which nobody has taken or dropped the gradient yet, with the passes that added to it.
        self.pending: dict[int, tuple[weakref.ref[Any], list[_Pass]]] = {}
        # Of those, when their pass was over: which tensor the gradient is, and how often it had been changed.
        self.made: dict[int, tuple[int, int]] = {}

    def _differs(self) -> None:
        """A step holds what those before did not: whole ones begin with the next. Later on, steps are recorded."""
        if self.round <= MOST_IN_A_ROW:
            self._compare_from(max(_FIRST_ROUND, self.round + 1))

    def before_backward(self, *given: Any, **named: Any) -> None:
        """A backward pass is about to run, with these arguments; one to chosen `inputs` hands nothing to other leaves."""
        self.passes += 1
        self._drop()
        if self.last == self.round and not self.several:
            self.several = True
            self._differs()
        self.last = self.round
        turns = self.several or len(self.optimizers) > 1
        compared = self.first <= self.round < self.first + _ROUNDS and turns and self.walked < _MOST_PASSES
        if not (self.passes in _PASSES or compared) or self.leaves is None or named.get("inputs") is not None:
            return
        roots = given[0] if given else named.get("tensors")
        with contextlib.suppress(*FAILURES):
            found, nodes, leaves = _walk(roots if isinstance(roots, (list, tuple)) else [roots])
            if found is None:
                self.leaves = None
                return
            self.walked += 1
            self.leaves.update(found)
            parameters = {id(leaf): weakref.ref(leaf) for leaf in leaves if found[id(leaf)][1]}
            self.seen.update(parameters)
            if self.passes in _PASSES:
                self.graphs.append(nodes)
            if compared:
                one = _Pass(nodes, of_input=len(parameters) < len(found))
                self.rounds[self.round - self.first].append(one)
                for name, leaf in parameters.items():
                    self.pending.setdefault(name, (leaf, []))[1].append(one)

    def after_backward(self) -> None:
        """A backward pass is over."""
        with contextlib.suppress(*FAILURES):
            for one, (leaf, _) in self.pending.items():
                if (gradient := getattr(leaf(), "grad", None)) is not None:
                    self.made[one] = id(gradient), gradient._version

    def _drop(self) -> None:
        """Note of which leaves the gradient that no optimizer has taken is gone, or was set to zero; in the step behind, too."""
        if self.round > self.first + _ROUNDS:
            self.pending = {}
        gone = [one for one, (leaf, _) in self.pending.items() if self._is_gone(one, getattr(leaf(), "grad", None))]
        for one in gone:
            for made in self.pending.pop(one)[1]:
                made.dropped.add(one)

    def _is_gone(self, one: int, gradient: Any) -> bool:
        """Whether a leaf's gradient is not there, or was zeroed since its pass was over: one may be zero by itself."""
        if gradient is None:
            return True
        with contextlib.suppress(*FAILURES):
            which, changes = self.made.get(one, (0, 0))
            if which != id(gradient) or changes == gradient._version:
                return False
            torch = sys.modules["torch"]
            # To look at values ends the capture of a graph, and would be recorded.
            shy = torch.autograd._profiler_enabled() or (gradient.is_cuda and torch.cuda.is_current_stream_capturing())
            return not shy and not bool(gradient.any())
        return False

    def after_optimizer(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        known = self.optimizers.get(id(optimizer))
        if known is None or known() is not optimizer:
            # Not by a reference that keeps those of earlier folds.
            with contextlib.suppress(*FAILURES):
                self.optimizers[id(optimizer)] = weakref.ref(optimizer)
                self._note(optimizer)
            if len(self.optimizers) > 1:
                self._differs()
        if self.pending:
            for leaf in _parameters(optimizer):
                for made in self.pending.pop(id(leaf), (None, []))[1]:
                    made.taken = True

    def trained(self) -> set[int]:
        """Identities of the tensors that optimizers update, of those that have stepped."""
        return {id(parameter) for optimizer in self._stepping() for parameter in _parameters(optimizer)}

    def _stepping(self) -> list[Any]:
        """Optimizers that have stepped, and are not gone."""
        return [one for ref in self.optimizers.values() if (one := ref()) is not None]

    def _note(self, optimizer: Any) -> None:
        self.updated.update((id(one), weakref.ref(one)) for one in _parameters(optimizer))

    def told(self, size: int) -> dict[str, Any] | None:
        """Tensors and numbers that get gradients for nothing, and all, and the nodes for nothing; None where that is not known.

        Optimizers with weights of their own (sharded, or in more bits) update none of the leaves, or other tensors of a job. Where
        a leaf is gone, as of a model that was fitted before, nobody knows whose it was.

        Args:
            size: World size of the job.
        """
        for optimizer in self._stepping():
            self._note(optimizer)
        trained = {one for one, ref in self.updated.items() if ref() is not None}
        gone = any(ref() is None for ref in self.seen.values())
        if not self.leaves or gone or size > 1 or trained.isdisjoint(self.leaves):
            return None
        untrained = [numbers for one, (numbers, parameter) in self.leaves.items() if parameter and one not in trained]
        needed = {one for one, (_, parameter) in self.leaves.items() if not parameter} | trained
        told = [_for_nothing(nodes, needed) for nodes in self.graphs] if untrained else []
        # Where passes differ nobody knows which of them a recorded one is.
        nodes = told[0] if told and all(one == told[0] for one in told) else {}
        return {
            **({"nodes": nodes} if nodes else {}),
            **self._dropped(needed),
            "tensors": len(untrained),
            "numbers": sum(untrained),
            "of_tensors": len(self.leaves),
            "of_numbers": sum(numbers for numbers, _ in self.leaves.values()),
        }

    def _dropped(self, needed: set[int]) -> dict[str, Any]:
        """How many tensors get gradients that are dropped, and for each pass of a step its nodes; nothing where steps differ."""
        lost = [[one.lost(passes) for one in passes] for passes in self.rounds]
        dropped = [set[int]().union(*step) for step in lost]
        told = [
            [_for_nothing(one.nodes, needed - gone) for one, gone in zip(passes, step, strict=True)]
            for passes, step in zip(self.rounds, lost, strict=True)
        ]
        if not dropped[0] or any(one != dropped[0] for one in dropped) or any(one != told[0] for one in told):
            return {}
        first = zip(self.rounds[0], lost[0], strict=True)
        of_input = set[int]().union(*(gone for one, gone in first if not one.taken))
        return {"dropped": len(dropped[0]), "of_input": len(of_input), "passes": told[0]}


def _parameters(optimizer: Any) -> list[Any]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _walk(roots: Any) -> tuple[dict[int, tuple[int, bool]] | None, list[_Node], list[Any]]:
    """Size of each leaf that roots lead back to, by identity, and whether it is a parameter; the graph; and the leaves.

    No leaves are known of a graph that is too large.
    """
    waiting = [node for root in roots if (node := getattr(root, "grad_fn", None)) is not None]
    place = {node: index for index, node in enumerate(dict.fromkeys(waiting))}
    waiting = list(place)
    found: dict[int, tuple[int, bool]] = {}
    leaves: list[Any] = []
    nodes: list[_Node] = [_described(node) for node in waiting]
    while waiting:
        if len(place) > _MOST_NODES:
            return None, [], []
        node = waiting.pop()
        # A function of the program's own may keep anything under that name.
        if type(node).__name__ == "AccumulateGrad":
            leaf = node.variable
            leaves.append(leaf)
            found[id(leaf)] = (leaf.numel(), type(leaf).__name__ == "Parameter")
            nodes[place[node]].leaf, nodes[place[node]].vector = id(leaf), leaf.dim() < 2
        for one, _ in node.next_functions:
            if one is None:
                continue
            if one not in place:
                place[one] = len(nodes)
                nodes.append(_described(one))
                waiting.append(one)
            nodes[place[node]].following.append(place[one])
    return found, nodes, leaves


def _described(node: Any) -> _Node:
    numbered = getattr(node, "_sequence_nr", None)
    return _Node(node.name(), numbered() if numbered is not None else -1, None)


def _for_nothing(nodes: list[_Node], needed: set[int]) -> dict[str, str]:
    """By name of nodes, in the order in which they run, what each is for: what is needed, by half, or nothing.

    Args:
        nodes: A graph.
        needed: Leaves whose gradients somebody takes, by identity.
    """
    # The engine runs the youngest first, and a node is younger than those behind it: from the oldest on all those are known.
    order = sorted(range(len(nodes)), key=lambda one: nodes[one].number if nodes[one].leaf is None else -2)
    if any(nodes[one].number < 0 for one in order if nodes[one].leaf is None):
        return {}
    leads = [False] * len(nodes)
    for one in order:
        node = nodes[one]
        leads[one] = node.leaf in needed if node.leaf is not None else any(leads[behind] for behind in node.following)
    said: dict[str, str] = {}
    for one in reversed(order):
        node = nodes[one]
        if node.leaf is None:
            halved = node.name in _OF_TWO_PRODUCTS and _a_product_is_for_nothing(nodes, node, leads)
            said[node.name] = said.get(node.name, "") + (_NOTHING if not leads[one] else _HALF if halved else _NEEDED)
    return {name: marks for name, marks in said.items() if marks.strip(_NEEDED)}


def _a_product_is_for_nothing(nodes: list[_Node], node: _Node, leads: list[bool]) -> bool:
    """Whether a gradient of two dimensions or more goes where nobody needs it: a bias takes a sum, which is no product."""
    behind = [one for one in node.following if nodes[one].leaf is None or not nodes[one].vector]
    return not all(leads[one] for one in behind)
