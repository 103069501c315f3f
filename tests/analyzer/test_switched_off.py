"""What `--select` and `--ignore` leave out is left out of the findings alone: the verdict asks all rules for a bound."""

from __future__ import annotations

import threading

import pytest

from analyzer.explain import explain_facts
from analyzer.options import Options
from known.scenarios import OF_RANKS, facts_of
from rules import RULES

BINDING = [rule.meta.code for rule in RULES if rule.meta.binds and rule.meta.code not in OF_RANKS]


@pytest.mark.parametrize("code", BINDING)
def test_the_verdict_is_the_same_with_every_rule_switched_off(code: str) -> None:
    every = explain_facts(facts_of(code)).analysis.summary.verdict
    assert explain_facts(facts_of(code), Options(select=("none",))).analysis.summary.verdict == every


def test_they_are_asked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each went with a thread of its own: a third of what a rank of a job took."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    explain_facts(facts_of("ID001"), Options(select=("none",)))
    assert len(started) == 1
