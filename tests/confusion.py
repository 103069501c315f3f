"""How often each rule is right where the truth is known: one confusion table per rule over traces and built worlds.

`python tests/confusion.py` prints it. The truth is known of a rule's own world and of the world beside it that lacks the fault
(`known/`), both in every dialect (`building/`); of healthy loops, in which no rule has anything to find (`programs/`);
and of recorded traces as far as a line of `expected.py` says so. Of what else is said there is a row each: of promises and their
outcomes, versions, kinds of program, steps, totals and trust (`sayings.py`), and of programs of many kinds (`mechanisms.py`); of
published stories (`stories/`) the share that is told right. What is not known is not counted. A rule that says it cannot tell, or
that the question does not arise, neither fires nor is it right: it abstains.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import State
from analyzer.rule import Rule
from building.dialects import DIALECTS
from known.alike import ALIKE
from known.answering import ANSWERING
from known.expected import OF_SAMPLES, TABLE, Expected
from known.mechanisms import MECHANISMS
from known.neighbours import NEIGHBOURS
from known.sayings import SAYINGS, Saying
from known.scenarios import OF_RANKS, RULE_BY_CODE, SCENARIOS, facts_of, world
from known.verdicts import VERDICTS, Known
from programs.healthy import HEALTHY, TRUE_OF_HEALTHY
from rules import RULES
from running.recorded import told_of
from stories.all_of_them import share

PLAIN = "torch 2"
# What a dialect does to the fault itself: it is one of its own, or it has no place for it.
ADDED = frozenset({("PG007", "repeated ids"), ("PG011", "torch 1.8")})
# Torch 1.8 states nothing of the device, and so no peaks.
GONE = frozenset({("PG009", "torch 1.8"), ("KE005", "torch 1.8"), ("KE009", "torch 1.8")})
# All that may be said, each with worlds that have the property, and worlds that lack it.
SAID = (*SAYINGS, *MECHANISMS, *ALIKE, *ANSWERING, *NEIGHBOURS)
ABSTAINS = (State.CANNOT_TELL, State.NOT_APPLICABLE, State.SUPPRESSED)


@dataclass(frozen=True)
class Case:
    """One rule on one trace with known truth.

    Args:
        code: The rule.
        where: Name of the trace.
        should: Whether the fault is there.
        state: What the rule said.
    """

    code: str
    where: str
    should: bool
    state: State

    @property
    def cell(self) -> str:
        """TP, FP, FN or TN; `abstains` where the rule said that it cannot answer and the fault is there."""
        if self.state is State.FIRED:
            return "TP" if self.should else "FP"
        if self.should:
            return "abstains" if self.state in ABSTAINS else "FN"
        return "TN"


def runs_of(facts: Facts, rules: tuple[Rule, ...] = RULES) -> dict[str, RuleRun]:
    """What became of each rule."""
    return {run.rule.meta.code: run for run in run_rules(facts, rules, grade(facts))}


def speaks(code: str, dialect: str) -> bool:
    """Whether a rule's world can be told in a dialect: ranks are measured already, and ROCm needs a device."""
    if dialect == PLAIN:
        return True
    return code not in OF_RANKS and (dialect != "ROCm" or world(code).device == "cuda")


@cache
def on_scenario(code: str, *, fires: bool, dialect: str = PLAIN) -> Case:
    """A rule on its own world, or on the one beside it."""
    facts = (
        facts_of(code, fires=fires) if dialect == PLAIN else Facts(DIALECTS[dialect](world(code, fires=fires)).trace())
    )
    state = runs_of(facts, (RULE_BY_CODE[code],))[code].state
    should = (fires or (code, dialect) in ADDED) and (code, dialect) not in GONE
    return Case(code, f"{'its world' if fires else 'the world beside'}, {dialect}", should, state)


@cache
def on_healthy(name: str) -> tuple[Case, ...]:
    """All rules on a healthy loop."""
    found = runs_of(Facts(HEALTHY[name]().trace()))
    true = TRUE_OF_HEALTHY.get(name, ())
    return tuple(Case(code, f"healthy: {name}", code in true, run.state) for code, run in found.items())


def on_recorded(line: Expected) -> tuple[Case, ...]:
    """The rules of which a line says something; none where the trace is not beside the repository."""
    if not line.path.is_file():
        return ()
    return tuple(
        Case(check.rule, line.name, check.rule in line.fires, State(check.state))
        for check in told_of(line.path).analysis.checks
        if check.rule in line.fires or check.rule.startswith(line.quiet or ("--",))
    )


def cases() -> tuple[Case, ...]:
    """Every rule on everything of which the truth is known."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for code in SCENARIOS:
        for dialect in (PLAIN, *DIALECTS):
            if speaks(code, dialect):
                yield on_scenario(code, fires=True, dialect=dialect)
                yield on_scenario(code, fires=False, dialect=dialect)
    for name in HEALTHY:
        yield from on_healthy(name)
    for line in (*TABLE, *OF_SAMPLES):
        yield from on_recorded(line)


def table(
    given: tuple[Case, ...],
    sayings: tuple[Saying, ...] = SAID,
    verdicts: tuple[Known, ...] = VERDICTS,
    stories: Callable[[], str] = share,
) -> str:
    """One line per rule: fired of should, the four cells, precision and recall; last, every answer that is wrong.

    Args:
        given: What rules answered.
        sayings: What may be said, of which each is asked.
        verdicts: Worlds whose verdict is asked.
        stories: Tells of the stories.
    """
    columns = (("rule", -6), ("fired", 6), ("should", 8), ("TP", 5), ("FP", 4), ("FN", 4), ("TN", 5), ("abstains", 10))
    head = "".join(f"{name:<{-width}}" if width < 0 else f"{name:>{width}}" for name, width in columns)
    lines = [f"{head}{'precision':>11}{'recall':>8}"]
    cells = Counter((case.code, case.cell) for case in given)
    for code in SCENARIOS:
        tp, fp, fn, tn, none = (cells[code, name] for name in ("TP", "FP", "FN", "TN", "abstains"))
        ratios = "".join(
            f"{part / whole:>{width}.2f}" if whole else f"{'-':>{width}}"
            for part, whole, width in ((tp, tp + fp, 11), (tp, tp + fn, 8))
        )
        lines.append(f"{code:<6}{tp + fp:>6}{tp + fn + none:>8}{tp:>5}{fp:>4}{fn:>4}{tn:>5}{none:>10}{ratios}")
    traces = len({case.where for case in given} & {line.name for line in (*TABLE, *OF_SAMPLES)})
    lines.append(
        f"{len(SCENARIOS)} rules, {len(given)} answers; {len(HEALTHY)} healthy loops, {traces} recorded traces"
    )
    lines += [_of_saying(what, sayings) for what in dict.fromkeys(saying.what for saying in sayings)]
    lines += [f"verdict: {known.name}: {known.said()}, {known.bound_by} is true" for known in verdicts]
    wrong = [f"{case.cell} {case.code} on {case.where}" for case in given if case.cell in ("FP", "FN")]
    wrong += [f"{one.cell} {one.what}: {one.of}" for one in sayings if one.cell in ("FP", "FN")]
    return "\n".join([*lines, stories(), *wrong])


def _of_saying(what: str, sayings: tuple[Saying, ...]) -> str:
    """One thing that may be said: how often it was, and rightly."""
    cells = Counter(saying.cell for saying in sayings if saying.what == what)
    of = "; ".join(f"{saying.of}: {'yes' if saying.true else 'no'}" for saying in sayings if saying.what == what)
    return f"said: {what}: {', '.join(f'{cells[name]} {name}' for name in ('TP', 'FP', 'FN', 'TN'))} ({of})"


if __name__ == "__main__":
    sys.stdout.write(f"{table(cases())}\n")
