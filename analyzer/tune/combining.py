"""The changes that helped, together; each is taken away again to see that it still carries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.analysis.tuning import TrialDocument
from analyzer.tune.bench import OutOfBudgetError
from analyzer.tune.candidates import Candidate
from analyzer.tune.events import Note
from analyzer.tune.noise import Gain
from analyzer.tune.trying import Reference, Trying, pays_after
from traces.collect.tune.trial import Changes


@dataclass
class Together:
    """What is recommended: the changes, what all bring, and what goes where one is left out.

    Args:
        changes: Values by name.
        gain: Against the script as it is; None where only one change helped.
        start_ns: What they make the start longer by; None where that is not told from nothing.
        pays_after: Steps after which a run with them is ahead; None where it is from the first one on.
        carries: What each brings beside the others; None where it is the only one.
        dropped: Why changes that help alone are not among them, by name.
    """

    changes: Changes
    gain: Gain | None
    carries: dict[str, Gain | None]
    dropped: dict[str, str]
    start_ns: int | None = None
    pays_after: int | None = None


def combine(
    trying: Trying,
    reference: Reference,
    helping: Sequence[tuple[Candidate, Changes, TrialDocument]],
    noise: float,
) -> Together | None:
    """Tries the changes that helped together, largest gain first; None where none helped."""
    ranked = sorted(helping, key=lambda one: -(one[2].measured_ratio or 0.0))
    chosen: dict[str, tuple[Candidate, Changes, TrialDocument]] = {}
    dropped: dict[str, str] = {}
    groups: set[str] = set()
    for candidate, changes, trial in ranked:
        group = candidate.change.group
        if group and group in groups:
            best = next(one for one in chosen.values() if one[0].change.group == group)[2]
            dropped[candidate.change.name] = f"another change of its kind helps more{_once_paid(best, trial)}"
            continue
        groups |= {group} if group else set()
        chosen[candidate.change.name] = (candidate, changes, trial)
    if not chosen:
        return None
    together: Changes = {name: changes[name] for name, (_, changes, _) in chosen.items()}
    first = next(iter(chosen.values()))[2]
    alone = Gain(first.measured_ratio or 0.0, first.low_ratio or 0.0, first.high_ratio or 0.0)
    single = Together(
        dict(list(together.items())[:1]),
        alone,
        {},
        dropped,
        first.setup_ns,
        first.pays_after_steps,
    )
    if len(chosen) == 1:
        return single
    try:
        return _tried(trying, reference, together, single, noise)
    except OutOfBudgetError:
        trying.tell(
            Note("the budget is used up before the changes were tried together: the best one alone is recommended")
        )
        return single


def _tried(trying: Trying, reference: Reference, together: Changes, single: Together, noise: float) -> Together:
    measured = trying.in_turns(together, reference, noise, name="together")
    if measured.gain is None or measured.failed is not None or measured.loss.rejected:
        reason = measured.loss.rejected or (measured.failed.reason if measured.failed else "")
        trying.tell(Note(f"together the changes do not hold ({reason}): the best one alone is recommended"))
        return single
    whole = Reference(together, list(measured.runs))
    carries: dict[str, Gain | None] = {}
    dropped = dict(single.dropped)
    for name in reversed(list(together)):
        rest = {other: value for other, value in whole.changes.items() if other != name}
        if not rest:
            break
        without = trying.in_turns(rest, whole, noise, name=f"without {name}")
        carries[name] = _carried(without.gain)
        carried = carries[name]
        if without.gain is not None and carried is not None and carried.high < max(noise, 0.0) and carried.low < 0:
            dropped[name] = "beside the others it brings nothing"
            del carries[name]
            whole = Reference(rest, list(without.runs))
    if whole.changes != together:
        measured = trying.in_turns(whole.changes, reference, noise, name="together")
    start_ns, gain = measured.start_ns, measured.gain
    return Together(whole.changes, gain, carries, dropped, start_ns, pays_after(start_ns, gain, measured.runs))


def _once_paid(best: TrialDocument, other: TrialDocument) -> str:
    """From when on the better one of a kind is the better one, where the other one starts sooner."""
    if best.pays_after_steps is None or best.step_ns is None or other.step_ns is None:
        return ""
    longer_ns, less_ns = (best.setup_ns or 0) - (other.setup_ns or 0), other.step_ns - best.step_ns
    return f" once {math.ceil(longer_ns / less_ns):,} steps are over" if longer_ns > 0 and less_ns > 0 else ""


def _carried(without: Gain | None) -> Gain | None:
    """What a change brings beside the others, from what its absence costs: shares of the step without it."""
    if without is None:
        return None
    back = [1 - 1 / (1 - ratio) if ratio < 1 else 0.0 for ratio in (without.ratio, without.high, without.low)]
    return Gain(*back)


def values_of(changes: Mapping[str, object]) -> tuple[str, ...]:
    """`workers=2`, `autocast=bfloat16`, `pinned`."""
    return tuple(name if isinstance(value, bool) else f"{name}={value}" for name, value in changes.items())
