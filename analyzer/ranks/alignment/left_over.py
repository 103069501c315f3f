"""What each rank may be taken for, until what no other rank can agree with is ruled out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

_Choice = TypeVar("_Choice")
_Asked = TypeVar("_Asked", contravariant=True)


class Agreement(Protocol[_Asked]):
    """What ranks have to agree on."""

    def seen_by(self, one: int, choice: _Asked, other: int) -> Hashable:
        """What a choice of a rank means for another one: equal for choices that are alike to it."""
        ...

    def agree(self, one: int, mine: Hashable, other: int, its: Hashable) -> bool:
        """Whether what a rank's choice means for another can be true beside what that one's choice means for it."""
        ...


def left_over(choices: Sequence[Sequence[_Choice]], among: Agreement[_Choice]) -> list[list[_Choice]]:
    """The choices of each rank for which every other rank has one that agrees.

    Args:
        choices: What each rank may be taken for.
        among: What they have to agree on.
    """
    left = [list(mine) for mine in choices]
    ranks = range(len(left))
    changed = True
    while changed:
        changed = False
        for one in ranks:
            for other in ranks:
                if one == other:
                    continue
                its = {among.seen_by(other, choice, one) for choice in left[other]}
                mine = {among.seen_by(one, choice, other) for choice in left[one]}
                good = {seen for seen in mine if any(among.agree(one, seen, other, said) for said in its)}
                if len(good) < len(mine):
                    left[one] = [choice for choice in left[one] if among.seen_by(one, choice, other) in good]
                    changed = True
    return left
