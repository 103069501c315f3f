"""The whole of `advisor tune` behind the recording: time the script, try what its findings advise, put together what helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec.structs import asdict

from analyzer.analysis import Analysis
from analyzer.analysis.tuning import TrialDocument, TriedValue, Tuning
from analyzer.tune import bench as benches
from analyzer.tune import events
from analyzer.tune.bench import Bench, OutOfBudgetError
from analyzer.tune.candidates import Candidate, by_hand, candidates
from analyzer.tune.catalogue import Machine
from analyzer.tune.combining import Together, combine
from analyzer.tune.noise import noise_ratio
from analyzer.tune.result import About, result
from analyzer.tune.trying import LEAST_TURNS, Reference, Trying, UnmeasurableError, document
from traces.collect.tune.trial import Changes, Ran, Script
from traces.errors import UntrustedTraceError

# Runs of the script as it is before anything is tried: three differences tell the noise.
BASELINE_RUNS = 4
# How long a run times: below it clocks and schedulers decide.
_LEAST_NS = 2_000_000_000
_MOST_STEPS = 400


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked for.

    Args:
        script: The script.
        folder: The run folder, which there is.
        budget_s: How long it may take.
        seed: For the generators of every run.
        resume: Go on where an earlier call of the same script ended.
        allow_numerics: Try what may alter results, too; its loss curve is held against the script's own.
        least_ns: How long a run times its steps.
    """

    script: Script
    folder: Path
    budget_s: float = 600.0
    seed: int = 0
    resume: bool = False
    allow_numerics: bool = False
    least_ns: int = _LEAST_NS


def tune(
    wanted: Wanted,
    about: About,
    analysis: Analysis,
    outside: Mapping[str, Sequence[str]],
    tell: events.Tell,
    runner: benches.Runner,
) -> Tuning:
    """Tries what the findings advise.

    Args:
        wanted: What is asked for.
        about: The machine and the versions, for the result.
        analysis: The script's recording, explained.
        outside: The changes that can be made from outside, by rule.
        tell: Hears what goes on.
        runner: Runs the script once.

    Raises:
        UntrustedTraceError: The script as it is cannot be measured.
        UsageError: No scratch folder can be made, or the interpreter cannot be started.
    """
    return _Session(wanted, about, tell, runner).go(analysis, outside)


def planned(analysis: Analysis, outside: Mapping[str, Sequence[str]], about: About) -> tuple[Candidate, ...]:
    """What is worth trying on this machine; empty where there is nothing."""
    return candidates(analysis, outside, Machine(about.cores, analysis.summary.gpu_busy_ratio is not None))


class _Session:
    """One tuning, and how far it came."""

    def __init__(self, wanted: Wanted, about: About, tell: events.Tell, runner: benches.Runner) -> None:
        self.wanted, self.about, self.tell = wanted, about, tell
        self.bench = Bench(wanted.script, wanted.folder, runner, wanted.budget_s, wanted.seed, resume=wanted.resume)
        self.began_s = self.bench.clock_s()
        self.trying = Trying(self.bench, tell)
        self.reference = Reference({})
        self.trials: list[TrialDocument] = []
        self.helping: list[tuple[Candidate, Changes, TrialDocument]] = []
        self.notes: list[str] = []
        self.complete = True

    def go(self, analysis: Analysis, outside: Mapping[str, Sequence[str]]) -> Tuning:
        found = planned(analysis, outside, self.about)
        self.tell(events.Planned(tuple(map(_planned, found))))
        together: Together | None = None
        if found:
            self.measure_baseline()
            together = self.measure(found)
        return result(
            self.about, self.wanted.script, self.wanted.seed, self.bench.asked, analysis, self.reference,
            tuple(self.trials), together, found, by_hand(analysis, outside),
            self.bench.clock_s() - self.began_s, self.complete, tuple(self.notes),
        )  # fmt: skip

    def measure_baseline(self) -> None:
        """Time the script as it is, several times: the step, and what equal runs differ by."""
        self.bench.asked = replace(self.bench.asked, steps=_MOST_STEPS, least_ns=self.wanted.least_ns)
        try:
            first = self.bench.run({})
            if first.ending != "measured":
                raise refusal(first)
            self.bench.settle(first, self.wanted.least_ns)
            for _ in range(BASELINE_RUNS - len(self.reference.runs)):
                self.trying.again(self.reference)
        except (OutOfBudgetError, UnmeasurableError) as error:
            raise UntrustedTraceError(
                "the script as it is could not be timed often enough to tell a gain from noise",
                why=str(error) or "the budget was used up",
                fix="give it more time: --budget MINUTES",
            ) from error

    def measure(self, found: Sequence[Candidate]) -> Together | None:
        """Every candidate in turn, then all that help together; an interrupt keeps what was measured."""
        try:
            for place, candidate in enumerate(found):
                try:
                    self.try_one(candidate)
                except OutOfBudgetError:
                    self.notes.append("the budget is used up: --resume goes on from there, --budget MINUTES gives more")
                    self.leave(found[place:], "the budget is used up")
                    break
            return combine(self.trying, self.reference, self.helping, self.noise)
        except UnmeasurableError as error:
            self.notes.append(f"ended early: {error}")
            self.leave(found[len(self.trials) :], str(error))
        except KeyboardInterrupt as error:
            # Told first: where nobody holds it the signal is sent again, in the middle of what follows.
            self.tell(events.Interrupted(error))
            self.notes.append("interrupted: what was measured is kept, --resume goes on from there")
            self.leave(found[len(self.trials) :], "interrupted")
        return None

    @property
    def noise(self) -> float:
        """The smallest gain that a trial of the least turns tells from nothing."""
        return noise_ratio(self.reference.times, LEAST_TURNS)

    def try_one(self, candidate: Candidate) -> None:
        """One candidate: refused without a run where nothing can come of it, else tried in turns."""
        change, noise, begun_s = candidate.change, self.noise, self.bench.clock_s()
        if candidate.ceiling_ratio < noise:
            self.keep(candidate, {}, _not_run(candidate, _too_little(candidate, noise)))
            return
        if change.numerics == "precision" and not self.wanted.allow_numerics:
            self.keep(
                candidate, {}, _not_run(candidate, "it changes the precision of results: --allow-numerics tries it")
            )
            return
        value = self.trying.best_value(candidate, self.reference, self.about.cores, noise)
        tried = self.trying.values.get(change.name, ())
        if value is None:
            self.keep(candidate, {}, _not_run(candidate, "no value of it came to its steps", tried))
            return
        changes: Changes = {change.name: value}
        measured = self.trying.in_turns(changes, self.reference, noise, name=change.name)
        told = document(candidate, changes, measured, self.noise, self.bench.clock_s() - begun_s, tried)
        self.keep(candidate, changes, told)

    def keep(self, candidate: Candidate, changes: Changes, trial: TrialDocument) -> None:
        """Note a trial."""
        self.trials.append(trial)
        if trial.verdict == "helps":
            self.helping.append((candidate, changes, trial))
        self.tell(events.Judged(trial))

    def leave(self, rest: Sequence[Candidate], why: str) -> None:
        """The others are not run."""
        self.complete = False
        for candidate in rest:
            self.keep(candidate, {}, _not_run(candidate, why, self.trying.values.get(candidate.change.name, ())))


def _planned(one: Candidate) -> events.PlannedChange:
    return events.PlannedChange(one.change.name, one.change.title, one.promise)


def _not_run(candidate: Candidate, why: str, tried: tuple[TriedValue, ...] = ()) -> TrialDocument:
    change = candidate.change
    return TrialDocument(
        change=change.name, title=change.title, rules=candidate.rules, numerics=change.numerics,
        **asdict(candidate.promise), verdict="not run", reason=why, tried=tried,
    )  # fmt: skip


def _too_little(candidate: Candidate, noise: float) -> str:
    """Why a change is not run whose ceiling is below the noise: an estimate's is not what is promised, so both are named."""
    most = f"{candidate.ceiling_ratio:.1%}"
    ceiling = (
        f"its ceiling, {most} of the step,"
        if candidate.ceiling_ratio <= candidate.promise.promised_ratio
        else f"even its ceiling, {most} of the step where {candidate.promise.promised_ratio:.1%} are promised and more may come,"
    )
    said = f"{ceiling} is below the noise, {noise:.1%}: no trial could tell it from nothing"
    return said.replace("%", " %")


def refusal(ran: Ran) -> UntrustedTraceError:
    """Why the script as it is cannot be tuned, and what to do."""
    fixes = {
        "short": "let it run longer: more epochs, or more data",
        "stopped": "let it write relative to the folder it is started in, or leave saving out with an argument of its own",
        "timed out": "see whether it trains at all: advisor collect",
        "no memory": "give it a smaller batch",
        "failed": "run it as it is first: a script that fails cannot be tuned",
    }
    whats = {
        "short": "the script ends before enough steps",
        "stopped": "trials would overwrite what the script writes",
        "timed out": "the script did not come to its steps",
        "no memory": "the script runs out of memory",
        "failed": "the script fails",
    }
    return UntrustedTraceError(whats[ran.ending], why=ran.reason, fix=fixes[ran.ending])
