"""The rules of every installed package: found by entry points, looked at, and put in order; no rule is known by name here."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeGuard

import msgspec

from analyzer.engine.limited import Caller
from analyzer.engine.precedence import in_order
from analyzer.engine.running import RULE_SECONDS
from analyzer.facts.isolation import described
from analyzer.rule import Rule, RuleMeta, is_check
from traces.errors import AdvisorError

RULE_GROUP = "advisor.rules"
# How our own rules are registered.
_OURS = "rules:RULES"
_WITHOUT_DOCSTRINGS = 2


@cache
def load_rules() -> tuple[Rule, ...]:
    """Every rule of every installed package that registers some in the entry-point group `advisor.rules`, by code.

    Looked for once a process, among all packages installed: that takes as long as a twelfth of explaining a small trace, and a job
    asks for each rank.

    Raises:
        AdvisorError: A registered object is no tuple of rules, its package cannot be imported, two packages use one code,
            or rules wait for one another.
    """
    found: dict[str, Rule] = {}
    brought: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=RULE_GROUP), key=lambda point: point.name):
        for rule in _registered(point):
            if not _is_rule(rule):
                raise AdvisorError(
                    f"the plug-in {_named(point)} registers something that is no rule",
                    where=point.value,
                    fix="let it name a tuple of analyzer.rule.Rule",
                )
            if not is_check(rule.check):
                raise AdvisorError(
                    f"the plug-in {_named(point)} has a rule {rule.meta.code} whose check cannot be called",
                    where=point.value,
                    why="a check takes (facts, limits), or (facts, limits, claimed) where other rules speak before it",
                    fix="give it these arguments",
                )
            if rule.meta.code in found and found[rule.meta.code] is not rule:
                raise AdvisorError(
                    f"two packages have a rule {rule.meta.code}",
                    where=f"{_named(brought[rule.meta.code])} and {_named(point)}",
                    fix="give one of them another code, or uninstall one of them",
                )
            found[rule.meta.code] = rule
            brought.setdefault(rule.meta.code, point)
    if not found:
        raise AdvisorError(
            "no rules are installed",
            where=f"entry points {RULE_GROUP!r}",
            why="the package is on the path without being installed",
            fix="pip install . in its checkout",
        )
    rules = tuple(found[code] for code in sorted(found))
    in_order(rules)
    return rules


def only_ours() -> bool:
    """Whether no other package registers rules."""
    return all(point.value == _OURS for point in entry_points(group=RULE_GROUP))


def _is_rule(value: object) -> TypeGuard[Rule]:
    """Whether what is registered is a rule whose metadata are of the declared types."""
    if not isinstance(value, Rule) or not callable(value.check):
        return False
    # Python's option -OO leaves docstrings out.
    if not isinstance(value.doc, str) and (value.doc is not None or sys.flags.optimize < _WITHOUT_DOCSTRINGS):
        return False
    try:
        msgspec.convert(msgspec.to_builtins(value.meta), RuleMeta)
    except (msgspec.ValidationError, TypeError):
        return False
    return True


def _registered(point: EntryPoint) -> tuple[object, ...]:
    def load() -> tuple[object, ...]:
        found = point.load()
        # Anything but a tuple or list counts as something that is no rule.
        return tuple(found) if isinstance(found, tuple | list) else (None,)

    try:
        if point.value == _OURS:
            return load()
        with Caller[tuple[object, ...]](RULE_SECONDS) as caller:
            return caller(load)
    # An import runs anybody's code, which may raise anything or ask for the end of the program.
    except Exception as error:
        raise AdvisorError(
            f"the plug-in {_named(point)} cannot be loaded: {described(error)}",
            where=point.value,
            fix="repair or uninstall the package that registers it",
        ) from error


def _named(point: EntryPoint) -> str:
    """A plug-in with the package that brings it."""
    package = point.dist
    return (
        f"{point.name!r} of the package {package.name} {package.version}" if package is not None else repr(point.name)
    )
