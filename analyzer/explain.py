"""From a path to an `Analysis`: the whole main job, without showing anything."""

from __future__ import annotations

import os
from collections.abc import Callable

from analyzer.analysis import Analysis
from analyzer.analysis.first_look import TakesFirstLook
from analyzer.assemble import assemble
from analyzer.assemble.first_look import first_look
from analyzer.engine import RULE_SECONDS, judge, run_rules
from analyzer.engine.plugins import RULE_GROUP, load_rules
from analyzer.engine.trust import grade
from analyzer.explained import Explained
from analyzer.facts import Facts
from analyzer.facts.isolation import attempt
from analyzer.options import Options
from analyzer.rule import Rule
from traces.errors import UsageError
from traces.one_heap import Leftover
from traces.progress import Progress, silent
from traces.reader.cache import cached
from traces.reader.decode.document import decode
from traces.reader.read import Decode, read

_PLAIN = Options()
__all__ = ["RULE_GROUP", "Explained", "Options", "analyse", "analyse_with_facts", "explain_facts", "load_rules"]


def analyse(
    path: str | os.PathLike[str],
    options: Options = _PLAIN,
    progress: Progress | None = None,
    decoder: Decode | None = None,
) -> Analysis:
    """Reads a trace and says what it means.

    Args:
        path: The trace.
        options: What to run on what.
        progress: Told (stage, done, total); raise from it to cancel.
        decoder: As for `traces.reader.read.read`; None is the one that the options ask for.

    Raises:
        UnreadableTraceError: The file is no trace or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    return analyse_with_facts(path, options, progress, decoder).analysis


def analyse_with_facts(
    path: str | os.PathLike[str],
    options: Options = _PLAIN,
    progress: Progress | None = None,
    decoder: Decode | None = None,
) -> Explained:
    """As `analyse`, with the measurements kept, for views that show more than the document holds."""
    # Looked for among all packages installed, which takes milliseconds; where other processes decode, they do so meanwhile.
    rules = load_rules()
    chosen = decoder or (cached.decode if options.cached else decode)
    trace = read(path, progress or silent, strict=options.strict, decoder=chosen)
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
    leftover = Leftover()
    _check_steps(facts, options)
    _show_first(facts, progress)
    trust = grade(facts)
    leftover.give_back()
    rules = load_rules() if rules is None else rules
    disabled = _disabled(rules, options)
    seconds = options.rule_seconds or RULE_SECONDS
    runs = run_rules(facts, rules, trust, disabled=disabled, limits=options.limits, seconds=seconds, progress=tell)
    leftover.give_back()
    judged = judge(facts, runs, trust, options.calibrated)
    leftover.give_back()
    analysis = assemble(facts, trust, runs, judged, options.accepted)
    if options.deep:
        # Hardly anybody asks for it.
        from analyzer.hta.deepen import deepen

        tell("looking deeper", 0, 1)
        analysis = deepen(analysis, facts.trace, rules)
    claims = {item.identity: item.finding.saving.claims for item in judged if not item.explained_by}
    savings = {item.identity: item.finding.saving for item in judged}
    return Explained(analysis, facts, claims if analysis.findings else {}, savings)


def _show_first(facts: Facts, watcher: object) -> None:
    """What is known already, for a watcher who takes it; the document is made of the same figures, so little is lost by it."""
    if not isinstance(watcher, TakesFirstLook):
        return
    look = attempt(lambda: first_look(facts), None)
    if look is not None:
        watcher.look_first(look)


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
        first, last = options.steps
        asked = f"--steps {first}-{last}" if last > first else f"--steps {first}"
        raise UsageError(
            f"no step of {facts.trace.meta.name} is within {asked}",
            why=has,
            fix="choose among them" if numbers else "leave --steps out, or record with profiler.step() after each step",
        )
