"""From a path to an `Analysis`: the whole main job, without showing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeGuard

import msgspec

from analyzer.analysis import Analysis
from analyzer.assemble import assemble
from analyzer.engine import RULE_SECONDS, judge, run_rules
from analyzer.engine.limited import Caller
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.isolation import described
from analyzer.finding import Saving
from analyzer.hta.deepen import deepen
from analyzer.options import Options
from analyzer.rule import Rule, RuleMeta
from analyzer.spans.intervals import IntervalSet
from traces.errors import AdvisorError, UsageError
from traces.progress import Progress, silent
from traces.reader.decode.document import decode
from traces.reader.read import Decode, read

RULE_GROUP = "advisor.rules"
# How our own rules are registered.
_OURS = "rules:RULES"
_PLAIN = Options()
__all__ = ["RULE_GROUP", "Explained", "Options", "analyse", "analyse_with_facts", "explain_facts", "load_rules"]


class Explained(msgspec.Struct, frozen=True):
    """The document and what it was made from.

    Args:
        analysis: The document.
        facts: The measurements; None where only the document is there (a report that is opened again).
        claims: For each finding of its own the time it explains, best finding first.
        savings: What each finding claims, those that others explain among them.
    """

    analysis: Analysis
    facts: Facts | None = None
    claims: Mapping[str, IntervalSet] = msgspec.field(default_factory=dict)
    savings: Mapping[str, Saving] = msgspec.field(default_factory=dict)


def load_rules() -> tuple[Rule, ...]:
    """Every rule of every installed package that registers some in the entry-point group `advisor.rules`, by code.

    Raises:
        AdvisorError: A registered object is no tuple of rules, its package cannot be imported, or two packages use one code.
    """
    found: dict[str, Rule] = {}
    for point in sorted(entry_points(group=RULE_GROUP), key=lambda point: point.name):
        for rule in _registered(point):
            if not _is_rule(rule):
                raise AdvisorError(
                    f"the plug-in {_named(point)} registers something that is no rule",
                    where=point.value,
                    fix="let it name a tuple of analyzer.rule.Rule",
                )
            if rule.meta.code in found and found[rule.meta.code] is not rule:
                raise AdvisorError(
                    f"two packages have a rule {rule.meta.code}", where=point.value, fix="give one of them another code"
                )
            found[rule.meta.code] = rule
    if not found:
        raise AdvisorError(
            "no rules are installed",
            where=f"entry points {RULE_GROUP!r}",
            why="the package is on the path without being installed",
            fix="pip install .",
        )
    return tuple(found[code] for code in sorted(found))


def _is_rule(value: object) -> TypeGuard[Rule]:
    """Whether what is registered is a rule whose metadata are of the declared types."""
    if not isinstance(value, Rule) or not callable(value.check) or not isinstance(value.doc, str):
        return False
    try:
        msgspec.convert(msgspec.to_builtins(value.meta), RuleMeta)
    except (msgspec.ValidationError, TypeError):
        return False
    return True


def _registered(point: EntryPoint) -> tuple[object, ...]:
    try:
        if point.value == _OURS:
            found = point.load()
        else:
            with Caller[object](RULE_SECONDS) as caller:
                found = caller(point.load)
    # An import runs anybody's code, which may raise anything or ask for the end of the program.
    except Exception as error:
        raise AdvisorError(
            f"the plug-in {_named(point)} cannot be loaded: {described(error)}",
            where=point.value,
            fix="repair or uninstall the package that registers it",
        ) from error
    # Anything but a tuple or list counts as something that is no rule.
    return tuple(found) if isinstance(found, tuple | list) else (None,)


def _named(point: EntryPoint) -> str:
    """A plug-in with the package that brings it."""
    package = point.dist
    return (
        f"{point.name!r} of the package {package.name} {package.version}" if package is not None else repr(point.name)
    )


def analyse(
    path: Path, options: Options = _PLAIN, progress: Progress | None = None, decoder: Decode = decode
) -> Analysis:
    """Reads a trace and says what it means.

    Args:
        path: The trace.
        options: What to run on what.
        progress: Told (stage, done, total); raise from it to cancel.
        decoder: As for `traces.reader.read.read`.

    Raises:
        UnreadableTraceError: The file is no trace or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    return analyse_with_facts(path, options, progress, decoder).analysis


def analyse_with_facts(
    path: Path, options: Options = _PLAIN, progress: Progress | None = None, decoder: Decode = decode
) -> Explained:
    """As `analyse`, with the measurements kept, for views that show more than the document holds."""
    # Looked for among all packages installed, which takes milliseconds; where other processes decode, they do so meanwhile.
    rules = load_rules()
    trace = read(path, progress or silent, strict=options.strict, decoder=decoder)
    return explain_facts(Facts(trace, options.steps), options, progress, rules)


def explain_facts(
    facts: Facts, options: Options = _PLAIN, progress: Progress | None = None, rules: tuple[Rule, ...] | None = None
) -> Explained:
    """As `analyse`, from measurements on: for a trace that is already read, or one rank among its peers.

    Args:
        facts: The measurements.
        options: What to run on them.
        progress: As for `analyse`.
        rules: The catalogue, where it is loaded already.
    """
    tell: Progress = progress or silent
    tell("measuring", 0, 1)
    _check_steps(facts, options)
    trust = grade(facts)
    rules = load_rules() if rules is None else rules
    tell("checking", 0, len(rules))
    disabled = _disabled(rules, options)
    seconds = options.rule_seconds or RULE_SECONDS
    runs = run_rules(facts, rules, trust, disabled=disabled, limits=options.limits, seconds=seconds)
    judged = judge(facts, runs, trust)
    tell("checking", len(rules), len(rules))
    analysis = assemble(facts, trust, runs, judged, options.accepted)
    if options.deep:
        tell("looking deeper", 0, 1)
        analysis = deepen(analysis, facts.trace)
    claims = {item.identity: item.finding.saving.claims for item in judged if not item.explained_by}
    savings = {item.identity: item.finding.saving for item in judged}
    return Explained(analysis, facts, claims if analysis.findings else {}, savings)


def _disabled(rules: tuple[Rule, ...], options: Options) -> frozenset[str]:
    matches: Callable[[str, tuple[str, ...]], bool] = lambda code, prefixes: code.startswith(prefixes)  # noqa: E731
    codes = [rule.meta.code for rule in rules]
    return frozenset(
        code
        for code in codes
        if (options.select and not matches(code, options.select)) or (options.ignore and matches(code, options.ignore))
    )


def _check_steps(facts: Facts, options: Options) -> None:
    if options.steps is None:
        return
    numbers = facts.steps.frame["number"].tolist() if facts.steps.source != "whole-trace" else []
    if not any(options.steps[0] <= number <= options.steps[1] for number in numbers):
        has = f"it has steps {min(numbers)} to {max(numbers)}" if numbers else "it has no step marks"
        raise UsageError(
            f"no step of {facts.trace.meta.name} is within --steps {options.steps[0]}-{options.steps[1]}",
            why=has,
            fix="choose among them" if numbers else "leave --steps out, or record with profiler.step() after each step",
        )
