"""Follows a few steps before the recording: which calls of modules compute what is known already.

A call is the same as one before if it is given the same tensors, which nobody has written to since, and the result is the same.
What is not trained may be called so in each step. And what is not trained, and draws no random numbers, gives the same for a sample
in each epoch: features of a frozen backbone, logits of a teacher, latents of an autoencoder.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from typing import Any

from ..common import FAILURES
from ..marks.module_marks import called
from ..marks.scope import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP
from ..marks.signature import Unknown, close, equal, sampled, storages, tensors
from ..software.own_code import own_line
from ..surroundings.random_states import random_states
from .calls import Call, Calls

Key = tuple[int, Any]
_WRITES_STATISTICS = "BatchNorm"
# Of a module so many of its tensors are looked at, and so many numbers of each.
_WEIGHTS, _OF_EACH = 64, 256


class Repeat:
    """Calls of one module in a step that computed what was known.

    Args:
        module: The module.
        label: By what name its root calls it, and its class.
        scope: How far back the result lies.
    """

    def __init__(self, module: Any, label: str, scope: str) -> None:
        self.module, self.label, self.scope = module, label, scope
        self.calls = 0
        self.result_bytes = 0
        # Whether a gradient goes through such a call and through none of those before: it is the one to keep.
        self.forward_only = False
        # The program's own line in the first such call.
        self.line: tuple[str, int, str] | None = None


class Follow:
    """Looks at one step, then at two more in which results are compared.

    Args:
        busy: Whether a backward pass runs.
        trained: Identities of the tensors that optimizers update.
        steps_train: Whether steps are those of an optimizer, or of backward passes.
    """

    def __init__(self, busy: Callable[[], bool], trained: Callable[[], set[int]], *, steps_train: bool) -> None:
        self.calls = Calls(self.entered, self.left, busy)
        self.trained, self.steps_train = trained, steps_train
        self.step = 0
        self.repeats: list[dict[tuple[int, str], Repeat]] = []
        self.refuted: set[tuple[int, str]] = set()
        self.results: dict[Key, list[Any]] = {}
        self.weights: dict[int, list[Any]] = {}
        self.before: dict[Key, Any] = {}
        self._begin()

    def _begin(self) -> None:
        """A step begins."""
        self.updated = self.trained()
        self.seen: dict[Key, Any] = {}
        # Calls through whose result a gradient may go.
        self.recorded: set[Key] = set()
        self.trains: dict[int, bool] = {}
        self.given: set[int] = set()
        self.kept: list[Any] = []
        self.states: tuple[Any, ...] | None = None
        self.trained_ran = False
        self.repeats.append({})

    def start(self) -> None:
        """From the next call on."""
        self.calls.start()

    def stop(self) -> None:
        """Leave the modules alone."""
        self.calls.stop()

    def next_step(self) -> None:
        """A step is over."""
        self.step += 1
        # Results of arguments that did not come again are of no use any more.
        self.results = {key: result for key, result in self.results.items() if key in self.seen}
        self.before = self.seen
        self.calls.next_step()
        self._begin()

    def after_batch(self, batch: Any) -> None:
        """A loader has handed over a batch."""
        with contextlib.suppress(*FAILURES):
            found, kept = storages(batch)
            self.given |= found
            self.kept += kept
            self.states, self.trained_ran = random_states(), False

    def entered(self, call: Call, around: Call | None) -> None:
        """A call begins: is its result known?"""
        signature, key = call.signature, call.key
        call.known = around is not None and around.known
        if signature is None or key is None:
            return
        if around is None and self._untouched():
            self.given |= signature.storages
            self.kept += signature.kept
        if not call.known:
            call.scope = self._scope(call, key)
            call.known = call.scope is not None
            call.states = random_states() if call.scope == IN_EACH_EPOCH else ()
        self.seen.setdefault(key, signature.kept)

    def _scope(self, call: Call, key: Key) -> str | None:
        signature = call.signature
        assert signature is not None
        if key in self.seen:
            return IN_STEP
        if not self.steps_train or signature.wants_gradient or self._trains(call.module):
            return None
        if key in self.before:
            return IN_EACH_STEP
        if self.states is None or not any(True for _ in call.module.parameters()):
            return None
        return IN_EACH_EPOCH if signature.storages <= self.given or self._untouched() else None

    def _untouched(self) -> bool:
        """Whether all that there is was made of the batch with no trained module, and no random number, in between."""
        return self.states is not None and not self.trained_ran and random_states() == self.states

    def _trains(self, module: Any) -> bool:
        known = self.trains.get(id(module))
        if known is None:
            known = self.trains[id(module)] = any(id(one) in self.updated for one in module.parameters())
        return known

    def left(self, call: Call, result: Any) -> None:
        """A call has come back."""
        self.trained_ran |= self._trains(call.module)
        key = call.key
        if key is None:
            return
        recorded = any(one.requires_grad for one in tensors(result))
        if recorded and call.scope != IN_STEP:
            self.recorded.add(key)
        if call.scope is not None:
            self._note(call, key, result, recorded=recorded)
        # The first of its kind in this step, where others follow.
        first = call.scope == IN_EACH_EPOCH or not call.known
        if first and self.step and (id(call.module), IN_STEP) in self.repeats[0]:
            self._keep(call, key, result)

    def _note(self, call: Call, key: Key, result: Any, *, recorded: bool) -> None:
        """Count a call whose result is known, and look whether it is that result."""
        scope = call.scope
        assert scope is not None
        place = id(call.module), scope
        repeat = self.repeats[-1].get(place)
        if repeat is None:
            repeat = self.repeats[-1][place] = Repeat(call.module, _label(call), scope)
            repeat.line = own_line(sys._getframe())
        repeat.calls += 1
        repeat.forward_only |= recorded and key not in self.recorded
        repeat.result_bytes += sum(one.numel() * one.element_size() for one in tensors(result))
        holds = not self.step
        with contextlib.suppress(*FAILURES):
            holds = holds or self._holds(call, key, result)
        if not holds:
            self.refuted.add(place)

    def _keep(self, call: Call, key: Key, result: Any) -> None:
        with contextlib.suppress(Unknown):
            self.results[key] = sampled(result)
            self.weights[id(call.module)] = _weights(call.module)

    def _holds(self, call: Call, key: Key, result: Any) -> bool:
        """Whether the result is the one that was known; of samples, whether nothing can make it another in the next epoch."""
        if call.scope != IN_STEP and key in self.recorded:
            return False
        if call.scope == IN_EACH_EPOCH:
            drew = random_states() != call.states
            return not drew and not _writes_statistics(call.module) and self._stays(call.module)
        if key not in self.results:
            self._keep(call, key, result)
            # In the first step in which results are kept there is nothing to compare with.
            return call.scope == IN_EACH_STEP and self.step == 1 and key in self.results
        try:
            return close(self.results[key], sampled(result)) and self._stays(call.module)
        except Unknown:
            return False

    def _stays(self, module: Any) -> bool:
        """Whether the weights are what they were, as far as they were looked at: an average of others moves on."""
        now = _weights(module)
        return equal(self.weights.setdefault(id(module), now), now)

    def found(self) -> list[Repeat]:
        """What both steps that were compared computed again, as often."""
        if self.step < 3:
            return []
        first, second = self.repeats[1], self.repeats[2]
        return [
            repeat
            for place, repeat in second.items()
            if place in first and first[place].calls == repeat.calls and place not in self.refuted
        ]


def _weights(module: Any) -> list[Any]:
    parameters = itertools.islice(module.parameters(), _WEIGHTS)
    return [one.detach().reshape(-1)[:_OF_EACH].clone() for one in parameters]


def _label(call: Call) -> str:
    """What the module is called by the outermost one that is being called."""
    name = next((name for name, inner in call.root.named_modules() if inner is call.module), "")
    return called(name, call.module)


def _writes_statistics(module: Any) -> bool:
    """Whether a call changes the module itself, as batch normalisation does in training."""
    return any(one.training and _WRITES_STATISTICS in type(one).__name__ for one in module.modules())
