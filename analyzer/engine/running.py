"""Runs rules behind those that speak before them; one that crashes, ends the program or hangs is reported, and the others run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from analyzer.engine.conforming import given_by
from analyzer.engine.limited import Caller, TookTooLong
from analyzer.engine.precedence import claimed_by, in_order, speaking_before
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.facts.isolation import FactError, described
from analyzer.finding import Finding, Outcome, State
from analyzer.rule import Rule
from analyzer.spans.intervals import IntervalSet
from analyzer.step_words import in_words, speaks_of_training
from traces.one_heap import Leftover
from traces.progress import Progress, silent
from traces.trace import Capability

# Room for a large trace on a machine that is busy with other work (`tests/bench/all_rules.py` measures all rules together). What
# does not come back by then is taken for hung.
RULE_SECONDS = 120.0
_OURS = "rules"
CHECKING = "checking"
# How the reason begins of a rule that is not ours.
STRANGE = "in the package "


class RuleRun(msgspec.Struct, frozen=True):
    """What became of one rule."""

    rule: Rule
    state: State
    reason: str
    findings: tuple[Finding, ...] = ()


def run_rules(
    facts: Facts,
    rules: Sequence[Rule],
    trust: TrustGrade,
    *,
    disabled: frozenset[str] = frozenset(),
    limits: Mapping[str, Mapping[str, float]] | None = None,
    seconds: float = RULE_SECONDS,
    progress: Progress = silent,
) -> tuple[RuleRun, ...]:
    """Runs every rule; one that crashes, ends the program or does not come back is reported and never takes the others down.

    A rule runs behind those that speak before it, and is handed what they claimed where they fired.

    Args:
        facts: The measurements.
        rules: The catalogue.
        trust: The grade; on an unusable trace only the hygiene rules (family `profiling`) are run.
        disabled: Codes not to run.
        limits: Thresholds by rule code that replace the defaults.
        seconds: How long one rule may take.
        progress: Told (`checking`, rules done, all rules); raise from it to cancel.

    Returns:
        One answer per rule, in the order of the catalogue.

    Raises:
        AdvisorError: Rules wait for one another.
    """
    given = limits or {}
    runs: dict[int, RuleRun] = {}
    found: dict[int, tuple[Finding, ...]] = {}
    apart: dict[str, Facts] = {}
    before = speaking_before(rules)
    leftover = Leftover()
    with Caller[tuple[Finding | Outcome, ...]](seconds) as caller:
        for done, place in enumerate(in_order(rules)):
            progress(CHECKING, done, len(rules))
            rule = rules[place]
            package = package_of(rule)
            if package and package not in apart:
                apart[package] = facts.apart()
            claimed = claimed_by(before[place], found)
            own = {**rule.limits, **given.get(rule.meta.code, {})}
            seen = apart.get(package, facts)
            runs[place] = _skipped(facts, rule, trust, disabled) or _run(seen, rule, own, claimed, caller)
            found[place] = runs[place].findings
            leftover.give_back()
    progress(CHECKING, len(rules), len(rules))
    return tuple(runs[place] for place in range(len(rules)))


def _skipped(facts: Facts, rule: Rule, trust: TrustGrade, disabled: frozenset[str]) -> RuleRun | None:
    """Why a rule is not run; None where it is."""
    meta = rule.meta
    if meta.code in disabled:
        return RuleRun(rule, State.DISABLED, "switched off by --select or --ignore")
    if trust.verdict == "unusable" and meta.family != "profiling":
        return RuleRun(rule, State.SUPPRESSED, "by trust: the trace is unusable")
    suppressing = [code for code in meta.suppressed_by if code in trust.doubted]
    if suppressing:
        return RuleRun(rule, State.SUPPRESSED, f"by {', '.join(suppressing)}")
    return _lacking(facts, rule)


def _run(
    facts: Facts,
    rule: Rule,
    limits: Mapping[str, float],
    claimed: IntervalSet,
    caller: Caller[tuple[Finding | Outcome, ...]],
) -> RuleRun:
    try:
        given = caller(lambda: given_by(rule, facts, limits, claimed), strange=bool(package_of(rule)))
    except FactError as error:
        return RuleRun(rule, State.CANNOT_TELL, f"needs the measurement `{error.name}`, which failed: {error.reason}")
    except TookTooLong as error:
        return RuleRun(rule, State.CRASHED, f"{_whose(rule)}{error}; `rule-seconds` in the settings allows more")
    except (
        Exception
    ) as error:  # A rule may be anybody's plug-in: whatever it raises becomes its state, and the others run.
        return RuleRun(rule, State.CRASHED, f"{_whose(rule)}{described(error)}")
    said = [in_words(item, facts.steps.noun, trains=speaks_of_training(facts)) for item in given]
    findings = tuple(item for item in said if isinstance(item, Finding))
    outcomes = [item for item in said if isinstance(item, Outcome)]
    if findings:
        return RuleRun(rule, State.FIRED, findings[0].why, findings)
    run = RuleRun(rule, State.CLEAR, "looked at, nothing found")
    if outcomes:
        run = RuleRun(rule, outcomes[0].state, outcomes[0].reason)
    return _unsure(facts, rule) or run if run.state == State.CLEAR else run


def _unsure(facts: Facts, rule: Rule) -> RuleRun | None:
    """The run of a rule that found nothing where it could not have found all; None where it could."""
    present = facts.trace.capabilities
    lacking = rule.meta.clear_needs - present if Capability.DEVICE in present else None
    return RuleRun(rule, State.CANNOT_TELL, _needing(lacking)) if lacking else None


def _whose(rule: Rule) -> str:
    """The package of a rule that is not ours, for whoever looks for the fault; empty for ours."""
    package = package_of(rule)
    return f"{STRANGE}{package}: " if package else ""


def package_of(rule: Rule) -> str:
    """The package of a rule that is not ours; empty for ours."""
    package = str(getattr(rule.check, "__module__", None) or "").partition(".")[0]
    return "" if package == _OURS else package


def _lacking(facts: Facts, rule: Rule) -> RuleRun | None:
    """The run of a rule whose data the trace lacks: not applicable without any device, else cannot tell."""
    lacking = rule.meta.needs - facts.trace.capabilities
    if not lacking:
        return None
    of_device = {Capability.DEVICE, Capability.LAUNCHES}
    if of_device & lacking and facts.trace.meta.device_kind == "cpu":
        return RuleRun(rule, State.NOT_APPLICABLE, "no device in this trace")
    return RuleRun(rule, State.CANNOT_TELL, _needing(lacking))


def _needing(lacking: frozenset[Capability]) -> str:
    """What a recording has to hold, in the words of the capabilities, in their order."""
    return "needs " + "; ".join(capability.value for capability in Capability if capability in lacking)
