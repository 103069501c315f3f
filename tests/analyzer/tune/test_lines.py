"""What a tuning says in lines: a run with its step or without one, a trial with what it brought, what will be tried."""

from __future__ import annotations

from analyzer.analysis.tuning import Promise, TrialDocument
from analyzer.tune.events import Baseline, Event, Judged, Note, Planned, PlannedChange, Running, Timed
from analyzer.tune.lines import line

TRIAL = TrialDocument(
    change="workers=2", title="Load in two workers", rules=("DL002",), numerics="same", promised_ratio=0.4, promised_kind="bound",
    measured_ratio=0.25, low_ratio=0.2, high_ratio=0.3, verdict="helps", step_ns=7_500_000, runs=3,
)  # fmt: skip


def test_a_run_says_its_step_or_that_it_has_none() -> None:
    assert line(Timed("workers", "2", 7_500_000)) == "2: 7.5 ms a step"
    assert line(Timed("workers", "2", None)) == "2: no step"
    assert line(Timed("foreach", "", 7_500_000)) == "foreach: 7.5 ms a step"


def test_the_script_as_it_is_has_its_noise() -> None:
    assert line(Baseline(10_000_000, 11_000_000, 0.03)) == "as it is: 10 ms a step (noise 3.0 %)"


def test_what_will_be_tried_is_named_with_its_promise() -> None:
    estimate = Promise(promised_ratio=0.1, promised_kind="estimate")
    changes = (
        PlannedChange("workers", "", Promise(promised_ratio=0.4, promised_kind="bound")),
        PlannedChange("fused", "", estimate),
    )
    assert line(Planned(changes)) == "to try: 2 changes: workers (up to 40 %), fused (up to about 10 %)"
    recorded = PlannedChange(
        "workers", "", Promise(promised_ratio=0.96, promised_kind="bound", promised_of_recorded=True)
    )
    assert line(Planned((recorded,))) == "to try: 1 change: workers (up to 96 % as recorded)"
    assert line(Planned(())) == "nothing to try: no rule with an outside fix fired"


def test_a_trial_says_what_came_and_why_where_nothing_did() -> None:
    told = line(Judged(TRIAL))
    assert told.startswith("workers=2 ")
    assert all(words in told for words in ("25 %", "20", "30", "40 %"))
    failed = TrialDocument(
        change="compile", title="", rules=("GR001",), numerics="same", promised_ratio=0.4, promised_kind="bound",
        verdict="failed", reason="it ended with 1",
    )  # fmt: skip
    assert line(Judged(failed)).endswith(": it ended with 1")
    assert " of " not in line(Judged(failed))


def test_a_note_is_said_and_a_beginning_is_not() -> None:
    silent: Event = Running("workers", "2", 1)
    assert (line(Note("a word")), line(silent)) == ("a word", "")
