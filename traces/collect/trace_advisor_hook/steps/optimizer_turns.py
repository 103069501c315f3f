"""Which optimizer's steps end a step of the loop, where several take turns."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from ..software.own_code import is_own

# A critic takes up to five steps to one of the generator (WGAN), a value network two to one of the policy (TD3). An optimizer that
# comes less often than that is a rare guest of a loop whose steps are alike without it.
MOST_IN_A_ROW = 8
# Of optimizers that take turns in long runs, as of a policy and its value network, none has so many steps to itself.
OVER = 256
# Of an optimizer for each parameter, in no certain order (Pyro), one comes twice at most between two turns of the first.
_OF_A_ROUND = 2


class OptimizerTurns:
    """Follows the optimizers of one loop.

    The first one that steps leads, and each of its steps ends a step of the loop, so that several which step together count once.
    Where it steps several times before it is another's turn, as the critic of a GAN does, only the first of them counts: from
    there to the same place of the next round is what repeats.
    """

    def __init__(self) -> None:
        self.lead: Any = None
        self.in_a_row = 0
        # How often each of the others has stepped since the leading one did.
        self.others: Counter[int] = Counter()
        self.turn: int | None = None
        self.place: tuple[CodeType, int] | None = None
        self.next: Any = None
        self.next_in_a_row = 0
        self.seen: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.is_new = self.at_once = False

    def ends_step(self, optimizer: Any) -> bool:
        """Whether the step that this optimizer has just taken ends one of the loop."""
        self.is_new = self.seen.get(id(optimizer)) is not optimizer
        if self.is_new:
            with suppress(TypeError):  # one that cannot be referred to weakly
                self.seen[id(optimizer)] = optimizer
        if self.lead is None:
            self.lead, self.place = optimizer, _own_place(sys._getframe(1))
        if optimizer is not self.lead:
            if self.in_a_row:
                self.turn, self.in_a_row = self.in_a_row, 0
            self.others[id(optimizer)] += 1
            return False
        self.in_a_row += 1
        self.others.clear()
        self.next_in_a_row = 0
        return self.in_a_row == 1 or self.turn is None or self.turn > MOST_IN_A_ROW or self.in_a_row > MOST_IN_A_ROW

    def let_lead(self, optimizer: Any) -> bool:
        """Hand over to an optimizer that steps again and again while the leading one does not; whether that was done."""
        if optimizer is self.lead or self.others.total() <= MOST_IN_A_ROW or self._is_a_round():
            return False
        self.lead, self.turn = optimizer, None
        self.in_a_row = 0
        self.others.clear()
        return True

    def let_succeed(self, optimizer: Any) -> bool:
        """Hand over to an optimizer that steps at the same line instead of the leading one; whether that was done.

        So does that of the next fold of a cross validation, or of the next trial of a search: the loop goes on. Where one has
        followed another, the next that is new follows at once (`at_once`), however few steps each of them takes; so it does where
        the one before it was such a one, which took some steps and is not heard of again.
        """
        if optimizer is self.lead:
            return False
        self.at_once |= self.is_new and optimizer is not self.next and self.next_in_a_row > 1
        self.next_in_a_row = self.next_in_a_row + 1 if optimizer is self.next else 1
        self.next = optimizer
        known = self.at_once and self.is_new
        if (
            (self.next_in_a_row <= MOST_IN_A_ROW and not known)
            or self.place is None
            or self.place != _own_place(sys._getframe(1))
        ):
            return False
        self.lead, self.next, self.turn = optimizer, None, None
        self.at_once = True
        self.in_a_row = self.next_in_a_row = 0
        self.others.clear()
        return True

    @property
    def is_over(self) -> bool:
        """Whether others have stepped for so long that the leading one will not come again."""
        return self.others.total() > OVER and not self._is_a_round()

    def _is_a_round(self) -> bool:
        """Whether the others may have stepped once each, however many they are."""
        return max(self.others.values(), default=0) <= _OF_A_ROUND


def _own_place(innermost: FrameType | None) -> tuple[CodeType, int] | None:
    """The line of the program's own that a stack is at; None where none is on it."""
    frame = innermost
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            return frame.f_code, frame.f_lineno
        frame = frame.f_back
    return None
