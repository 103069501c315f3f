"""What a rule gives, once it is of the declared types: a rule may be anybody's plug-in, and Python checks nothing."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from analyzer.engine.fitting import fitted
from analyzer.facts import Facts
from analyzer.facts.recording.frameworks import frameworks
from analyzer.facts.recording.versions import versions
from analyzer.finding import Bars, Figure, Finding, Outcome, Saving, Series, Shortened, State, Table
from analyzer.rule import Limits, Rule
from analyzer.spans.intervals import EMPTY, IntervalSet
from traces.patterns import Pattern

_EVIDENCE = (Bars, Series, Table)
_SAID = (State.CLEAR, State.NOT_APPLICABLE, State.CANNOT_TELL)
# These hold what is checked piece by piece.
_PARTS = ("saving", "evidence")
# A rule yields at most one finding per cause; a generator that never ends is stopped here.
_MOST_GIVEN = 1_000
# Every text is looked through for secrets, which takes a minute for ten million characters; none of ours has a thousandth.
_MOST_CHARACTERS = 100_000
# Of characters beyond 16 bits in UTF-16; no other encoding has them.
_HALVES = Pattern("[\ud800-\udfff]")


def given_by(rule: Rule, facts: Facts, limits: Limits, claimed: IntervalSet = EMPTY) -> tuple[Finding | Outcome, ...]:
    """What a rule gives.

    Args:
        rule: The rule.
        facts: The measurements.
        limits: Thresholds by name.
        claimed: What rules that fired before it have claimed.

    Raises:
        TypeError: It is not of the declared types, or more than any rule has to say.
    """
    given = tuple(islice(rule.said(facts, limits, claimed), _MOST_GIVEN + 1))
    if len(given) > _MOST_GIVEN:
        raise TypeError(f"the rule gave more than {_MOST_GIVEN} findings")
    return tuple(_within(_conforming(item), facts) for item in given)


def _within(item: Finding | Outcome, facts: Facts) -> Finding | Outcome:
    """The same, its claims cut to the used steps, outside which nothing is saved in them, and its fixes to the versions.

    Without a device every saving is an estimate: the rest of the step is work on the same cores, and gets faster where they have
    less to do.
    """
    if isinstance(item, Outcome):
        return item
    claims, usual = item.saving.claims & facts.steps.window, item.saving.usual_claims
    within = msgspec.structs.replace(
        item.saving,
        claims=claims,
        usual_claims=None if usual is None else usual & claims,
        behind=item.saving.behind & facts.steps.window,
        kind=Figure.ESTIMATE if facts.device.main is None else item.saving.kind,
    )
    fitting = fitted(item, versions(facts.trace.meta), frameworks(facts.trace), on_device=facts.device.main is not None)
    return msgspec.structs.replace(fitting, saving=within)


def _conforming(item: object) -> Finding | Outcome:
    """The finding or outcome that a rule gave.

    Raises:
        TypeError: It is neither, or a field holds something else than it is declared to.
    """
    if isinstance(item, Outcome):
        if not isinstance(item.state, State) or item.state not in _SAID or not isinstance(item.reason, str):
            raise TypeError(
                "the rule gave an outcome without a reason in words, or of a state that is not a rule's to say"
            )
        _check_texts(item.reason, "reason")
        return item
    if not isinstance(item, Finding) or not isinstance(item.saving, Saving):
        raise TypeError(f"the rule gave a {type(item).__name__} that is no finding")
    for name, declared in _plain_fields():
        _check(getattr(item, name), declared, name)
    _check_saving(item.saving)
    if not isinstance(item.evidence, tuple):
        raise TypeError("the rule's finding has the wrong type in `evidence`: no tuple")
    for number, piece in enumerate(item.evidence):
        if not isinstance(piece, _EVIDENCE):
            raise TypeError(f"the rule's finding has the wrong type in `evidence[{number}]`: no Bars, Series or Table")
        _check(piece, type(piece), f"evidence[{number}]")
    return item


@functools.cache
def _plain_fields() -> tuple[tuple[str, Any], ...]:
    """Fields of a finding that are looked at as they are, with their types; what annotations mean is worked out once."""
    return tuple((field.name, field.type) for field in msgspec.structs.fields(Finding) if field.name not in _PARTS)


def _check_saving(saving: Saving) -> None:
    """Raise TypeError where a part of the saving is not of its declared type."""
    for name, spans in (
        ("claims", saving.claims),
        ("usual_claims", EMPTY if saving.usual_claims is None else saving.usual_claims),
        ("behind", saving.behind),
    ):
        if not isinstance(spans, IntervalSet):
            raise TypeError(f"the rule's finding has the wrong type in `saving.{name}`: no IntervalSet")
    _check(saving.kernel_ns, int, "saving.kernel_ns")
    _check(saving.usual_kernel_ns, int | None, "saving.usual_kernel_ns")
    _check(saving.basis, str, "saving.basis")
    if not isinstance(saving.kind, Figure):
        raise TypeError("the rule's finding has the wrong type in `saving.kind`: no Figure")
    if not isinstance(saving.shortened, tuple) or not all(
        isinstance(one, Shortened) and isinstance(one.spans, IntervalSet) for one in saving.shortened
    ):
        raise TypeError("the rule's finding has the wrong type in `saving.shortened`: no tuple of Shortened")
    for one in saving.shortened:
        _check(one.ratio, float, "saving.shortened.ratio")
        _check(one.way, str, "saving.shortened.way")


def _check(value: object, declared: Any, name: str) -> None:
    """Raise TypeError where a value is not of its declared type, or holds what is not."""
    try:
        # Frozen structs do not look at what they are made of; what comes back from plain values is looked at.
        plain = msgspec.to_builtins(value, enc_hook=_plain)
        msgspec.convert(plain, declared)
    except (msgspec.ValidationError, TypeError) as error:
        raise TypeError(f"the rule's finding has the wrong type in `{name}`: {error}") from error
    _check_texts(plain, name)


def _check_texts(plain: object, name: str) -> None:
    """Raise TypeError where a rule says more than anybody reads, or what no file can hold."""
    texts = list(_texts(plain))
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        raise TypeError(f"the rule gave more than {_MOST_CHARACTERS:,} characters in `{name}`")
    if any(_HALVES.search(text) for text in texts):
        raise TypeError(f"the rule gave half a character (a lone surrogate) in `{name}`")


def _texts(plain: object) -> Iterator[str]:
    """The texts in it, keys included."""
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, dict):
        for pair in plain.items():
            yield from _texts(pair)
    elif isinstance(plain, list | tuple):
        for one in plain:
            yield from _texts(one)


def _plain(value: object) -> object:
    """A number or text of a class derived from Python's, as numpy's doubles are, as what it is derived from.

    Raises:
        TypeError: It is neither.
    """
    for plain in (float, int, str):
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(f"{type(value).__name__} is neither number nor text")
