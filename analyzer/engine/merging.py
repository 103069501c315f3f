"""Two findings whose fix is one and the same change get one card: nobody makes a change twice.

That is so where the first thing both advise is the same code, or where they advise some code in common and one's time lies mostly
within the other's. Findings at different places of the program are different changes whatever they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from analyzer.finding import Advice, Confidence, Figure, Finding, Saving
from analyzer.spans.shortened import Shorter, together_ns

# From this part of the smaller one's time on, two findings are about the same loss.
_SAME_TIME_RATIO = 0.5
_CONFIDENCE = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_Item = TypeVar("_Item")


def same_change(one: Finding, other: Finding) -> bool:
    """Whether one change to the program is the fix of both. Advice in prose is no change: it is too general to tell."""
    if one.location is not None and other.location is not None and one.location != other.location:
        return False
    mine, theirs = _changes(one), _changes(other)
    if not set(mine) & set(theirs):
        return False
    if one.fix[0].code == other.fix[0].code:
        return True
    shorter = min(one.saving.claims.total_ns, other.saving.claims.total_ns)
    shared = (one.saving.claims & other.saving.claims).total_ns
    return shorter > 0 and shared >= _SAME_TIME_RATIO * shorter


def combined(leader: Finding, other: Finding) -> Finding:
    """The leader with what the other adds: fixes, evidence and caveats it lacks, and time that only the other claims."""
    first, second = (_by_one_change(one.saving, leader.fix[0].code) for one in (leader, other))
    saving = Saving(
        claims=first.claims | second.claims,
        kernel_ns=_shorter_ns(first.shorter, second.shorter),
        basis=first.basis,
        between_ns=max(first.between_ns, second.between_ns),
        between_ratio=max(first.between_ratio, second.between_ratio),
        usual_claims=None
        if first.usual_claims is None and second.usual_claims is None
        else first.likely_claims | second.likely_claims,
        usual_kernel_ns=None
        if first.usual_kernel_ns is None and second.usual_kernel_ns is None
        else _shorter_ns(first.usually_shorter, second.usually_shorter),
        shortened=first.shortened + second.shortened,
        behind=first.behind | second.behind,
        kind=Figure.ESTIMATE if Figure.ESTIMATE in (first.kind, second.kind) else Figure.BOUND,
    )
    more = saving.total_ns > leader.saving.total_ns
    if more:
        saving = msgspec.structs.replace(saving, basis=f"{leader.saving.basis}; {other.saving.basis}")
    return msgspec.structs.replace(
        leader,
        saving=saving,
        fix=_united(leader.fix, other.fix, lambda advice: advice.code),
        evidence=_united(leader.evidence, other.evidence, lambda piece: piece.title),
        caveats=_united(leader.caveats, other.caveats, str),
        confidence=min(leader.confidence, other.confidence, key=_CONFIDENCE.index) if more else leader.confidence,
    )


def _by_one_change(saving: Saving, change: str) -> Saving:
    """The saving with its kernels made shorter by this change: of what both do to a kernel the larger comes true."""
    parts = (msgspec.structs.replace(one, way=one.way or change) for one in saving.shortened)
    return msgspec.structs.replace(saving, shortened=tuple(parts))


def _shorter_ns(first: Shorter, second: Shorter) -> int:
    """By how much kernels get shorter: those that both shorten count once, as far as it is known which they are."""
    return round(together_ns((*first.parts, *second.parts)) + first.unnamed_ns + second.unnamed_ns)


def _changes(finding: Finding) -> list[str]:
    return [advice.code for advice in finding.fix if _is_change(advice)]


def _is_change(advice: Advice) -> bool:
    return advice.language != "text"


def _united(first: Sequence[_Item], second: Iterable[_Item], key: Callable[[_Item], str]) -> tuple[_Item, ...]:
    seen = {key(item) for item in first}
    return (*first, *(item for item in second if key(item) not in seen))
