"""One change, tried in turns with what it is held against, until its interval says what it does."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import asdict

from analyzer.analysis.base import TrialVerdict
from analyzer.analysis.tuning import TrialDocument, TriedValue
from analyzer.tune.bench import Bench, OutOfBudgetError
from analyzer.tune.candidates import Candidate
from analyzer.tune.catalogue import BY_NAME
from analyzer.tune.events import Baseline, Running, Tell, Timed
from analyzer.tune.losses import Held, held
from analyzer.tune.noise import Gain, gain, noise_ratio
from analyzer.tune.search import search
from traces.collect.tune.trial import Changes, Ran, Value

# Turns that every trial has, and the most where they do not decide.
LEAST_TURNS, MOST_TURNS = 2, 5
# Twice the cores and memory for less than this is no gain.
_SLACK = 0.03
_QUEUE = 2
_NO_HOLD = "nothing in the script takes it, or it is so already"


class UnmeasurableError(Exception):
    """The script as it is does not run to its measured steps any more."""


@dataclass
class Reference:
    """Runs of what changes are held against: the script as it is, or the combination that is looked at.

    Args:
        changes: What it is made with.
        runs: Its runs in order.
    """

    changes: Changes
    runs: list[Ran] = field(default_factory=list)

    @property
    def times(self) -> list[float]:
        """Mean step of each run, nanoseconds."""
        return list(map(clock(self.runs), self.runs))

    @property
    def step_ns(self) -> float:
        """Median over the runs."""
        return statistics.median(self.times)

    @property
    def curves(self) -> list[tuple[float | None, ...]]:
        """Their loss curves."""
        return [run.losses for run in self.runs]


def clock(runs: Sequence[Ran]) -> Callable[[Ran], float]:
    """How to read the step of these runs: without what other programs took of it, where that is known of all of them."""
    if all(run.lacked_ns is not None for run in runs):
        return lambda run: run.step_ns - (run.lacked_ns or 0.0)
    return lambda run: run.step_ns


@dataclass(frozen=True)
class Measured:
    """A change in turns: its gain, its runs, how its loss held, and what it makes the start longer by."""

    gain: Gain | None
    runs: tuple[Ran, ...]
    loss: Held
    failed: Ran | None = None
    start_ns: int | None = None


class Trying:
    """Runs turns and judges them."""

    def __init__(self, bench: Bench, tell: Tell) -> None:
        self.bench = bench
        self.tell = tell
        # By change, whatever ends its search.
        self.values: dict[str, tuple[TriedValue, ...]] = {}

    def again(self, reference: Reference) -> None:
        """One run more of the reference.

        Raises:
            UnmeasurableError: It does not come to its steps any more.
        """
        self.tell(Running("", "", len(reference.runs) + 1))
        ran = self._run(reference.changes)
        if ran.ending != "measured":
            raise UnmeasurableError(f"a run of the script as it is {_ended(ran)}")
        reference.runs.append(ran)
        if not reference.changes:
            noise = noise_ratio(reference.times, LEAST_TURNS)
            self.tell(Baseline(reference.step_ns, reference.times[-1], noise))

    def in_turns(self, changes: Changes, reference: Reference, noise: float, *, name: str) -> Measured:
        """Run a change in turns with its reference, until the interval decides, there were enough, or the budget is used up.

        Raises:
            OutOfBudgetError: It is used up before the first turn is over.
            UnmeasurableError: The reference does not come to its steps any more.
        """
        around: list[tuple[Ran, Ran, Ran]] = []
        runs: list[Ran] = []
        found: Gain | None = None
        for turn in range(MOST_TURNS):
            self.tell(Running(name, written(changes, name), turn + 1))
            before = reference.runs[-1]
            try:
                ran = self._run(changes)
                measured = ran.ending == "measured"
                self.tell(Timed(name, written(changes, name), ran.step_ns if measured else None))
                if not measured or ran.refused or _untaken(ran, changes):
                    return Measured(found, tuple(runs), Held(None, 0.0), ran)
                self.again(reference)
            except OutOfBudgetError:
                if found is None:
                    raise
                break
            runs.append(ran)
            around.append((before, ran, reference.runs[-1]))
            step = clock([*reference.runs, *runs])
            turns = [(step(one), step(mine), step(other)) for one, mine, other in around]
            found = gain(list(map(step, reference.runs)), turns)
            if turn + 1 >= LEAST_TURNS and decided(found, noise):
                break
        return Measured(found, tuple(runs), held(reference.curves, runs[0].losses), start_ns=longer_start(around))

    def once(self, changes: Changes, reference: Reference, name: str) -> float | None:
        """One run, for a search: its step as a share of the reference's last; None where it has none."""
        self.tell(Running(name, written(changes, name), 1))
        ran = self._run(changes)
        # Of numbers one may be the script's own, which the others are held against.
        taken = BY_NAME[name].searched or not _untaken(ran, changes)
        measured = ran.ending == "measured" and not ran.refused and taken
        self.tell(Timed(name, written(changes, name), ran.step_ns if measured else None))
        step = clock([ran, reference.runs[-1]])
        return step(ran) / step(reference.runs[-1]) if measured else None

    def _run(self, changes: Changes) -> Ran:
        environment: dict[str, str] = {}
        for name, value in changes.items():
            environment |= BY_NAME[name].environment(value)
        return self.bench.run(changes, environment, queue(changes))

    def best_value(self, candidate: Candidate, reference: Reference, cores: int, noise: float) -> Value | None:
        """The value to try in turns, None where none ran: numbers are searched, of ways the best of one run each."""
        name = candidate.change.name

        def cost(value: Value) -> float | None:
            found = self.once({**reference.changes, name: value}, reference, name)
            told = TriedValue(value=str(value), gain_ratio=None if found is None else 1 - found)
            self.values[name] = (*self.values.get(name, ()), told)
            return found

        if len(candidate.values) == 1:
            return candidate.values[0]
        if candidate.change.searched:
            numbers = [value for value in candidate.values if type(value) is int]
            return search(numbers, cores, cost, _SLACK, 1 + noise)
        costs = {value: cost(value) for value in candidate.values}
        had = {value: one for value, one in costs.items() if one is not None}
        return min(had, key=lambda value: had[value]) if had else candidate.values[0]


def _untaken(ran: Ran, changes: Changes) -> list[str]:
    """Changes that took no hold: the script has no call that they concern."""
    return [name for name, value in changes.items() if name not in ran.applied and not BY_NAME[name].environment(value)]


def queue(changes: Changes) -> int:
    """Steps more to let pass: what a loader's workers have ready when the first step begins is no steady state."""
    workers, ready = changes.get("workers", 0), changes.get("prefetch", _QUEUE)
    return int(workers) * int(ready) if isinstance(workers, int) and isinstance(ready, int) else 0


def longer_start(around: Sequence[tuple[Ran, Ran, Ran]]) -> int | None:
    """What a run with the change needs more to start: in the median of its turns; None where starts alike differ by as much.

    Args:
        around: For each run with the change: the run before it, itself, the run after it.
    """
    longer = [mine.start_ns - (before.start_ns + after.start_ns) / 2 for before, mine, after in around]
    apart = max((abs(before.start_ns - after.start_ns) for before, _, after in around), default=0.0)
    return round(statistics.median(longer)) if longer and min(longer) > apart else None


def decided(found: Gain, noise: float) -> bool:
    """Whether more turns would tell nothing new: a gain or loss for sure, or less than the noise either way."""
    return found.low > 0 or found.high < 0 or max(abs(found.low), abs(found.high)) < noise


def verdict(measured: Measured, noise: float) -> tuple[TrialVerdict, str]:
    """What a change does, and why where the figures do not say it."""
    if measured.failed is not None:
        ran = measured.failed
        if ran.refused:
            return "not run", "; ".join(ran.refused.values())
        if ran.ending == "measured":
            return "not run", _NO_HOLD
        return "failed", _ended(ran)
    if measured.loss.rejected:
        return "rejected", measured.loss.rejected
    found = measured.gain
    if found is None:
        return "not run", "no turn was run"
    if found.low > 0 and found.ratio > noise / 2:
        return "helps", ""
    if found.high < 0 and found.ratio < -noise / 2:
        return "worse", ""
    return "no effect", ""


def _ended(ran: Ran) -> str:
    words = {
        "short": "ended too early", "failed": "failed", "no memory": "ran out of memory", "timed out": "hung",
        "stopped": "was stopped",
    }  # fmt: skip
    return f"{words.get(ran.ending, ran.ending)}: {ran.reason}"


def written(changes: Changes, name: str) -> str:
    """`workers=2`; the name alone for a switch."""
    value = changes.get(name)
    return name if value is None or isinstance(value, bool) else f"{name}={value}"


def document(
    candidate: Candidate,
    changes: Changes,
    measured: Measured,
    noise: float,
    seconds: float,
    tried: tuple[TriedValue, ...] = (),
) -> TrialDocument:
    """The trial as the result has it."""
    change, found, loss = candidate.change, measured.gain, measured.loss
    said, reason = verdict(measured, noise)
    if reason == _NO_HOLD and any(one.gain_ratio is not None for one in _others(tried, changes.get(change.name))):
        # They took hold: what the search came back to is what the script has.
        reason = f"of those tried {written(changes, change.name)}, as the script has it, is the best"
    return TrialDocument(
        change=written(changes, change.name),
        title=change.title,
        rules=candidate.rules,
        numerics=change.numerics,
        **asdict(candidate.promise),
        measured_ratio=found.ratio if found else None,
        low_ratio=found.low if found else None,
        high_ratio=found.high if found else None,
        verdict=said,
        reason=reason,
        step_ns=round(statistics.median(map(clock(measured.runs), measured.runs))) if measured.runs else None,
        runs=len(measured.runs),
        seconds=seconds,
        tried=tried,
        loss_difference_ratio=_finite(loss.difference),
        loss_tolerance_ratio=loss.tolerance if loss.difference is not None and change.numerics != "same" else None,
        setup_ns=measured.start_ns,
        pays_after_steps=pays_after(measured.start_ns, found, measured.runs) if said == "helps" else None,
    )


def _others(tried: Sequence[TriedValue], value: Value | None) -> list[TriedValue]:
    return [one for one in tried if one.value != str(value)]


def pays_after(start_ns: int | None, found: Gain | None, runs: Sequence[Ran]) -> int | None:
    """Steps after which a run with the change is ahead of one without it; None where it is from the first one on."""
    if start_ns is None or found is None or not 0 < found.ratio < 1:
        return None
    step_ns = statistics.median(map(clock(runs), runs))
    return math.ceil(start_ns / (step_ns / (1 - found.ratio) - step_ns))


def _finite(value: float | None) -> float | None:
    return None if value is None or value == float("inf") else value
