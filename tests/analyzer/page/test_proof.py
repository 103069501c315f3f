"""The way from a finding to the proof that a change helped, as commands."""

from __future__ import annotations

import pytest

from analyzer.page.findings.card import card_of
from analyzer.page.findings.proof import proof
from showing import analyses

ANALYSIS = analyses.example()
CARD = card_of(ANALYSIS.cards[0], ANALYSIS)


@pytest.mark.parametrize(
    ("recorded_by", "record"),
    [
        (("advisor", "collect"), "advisor collect -o after.json"),
        (("advisor", "collect", "--output", "old.json", "--shapes"), "advisor collect -o after.json --shapes"),
        (("advisor", "collect", "--output=old.json", "train.py"), "advisor collect -o after.json train.py"),
        # What stands behind `--` is the script's own, whatever it looks like.
        (
            ("advisor", "collect", "--evidence", "train.py", "--", "-o", "run 1", "--lr", "0.1"),
            "advisor collect -o after.json --evidence train.py -- -o 'run 1' --lr 0.1",
        ),
        ((), ""),
        (("python", "train.py"), ""),
    ],
)
def test_the_command_records_into_another_file(recorded_by, record):
    assert proof(CARD, "trace.json", recorded_by).record == record


def test_an_argument_that_was_left_out_is_told():
    way = proof(CARD, "trace.json", ("advisor", "collect", "train.py", "--", "--token", "..."))
    assert way.record.endswith("--token ...")
    assert "not recorded" in way.record_note


def test_the_comparison_names_the_trace_and_what_was_promised():
    way = proof(CARD, "my runs/trace.json", ())
    assert way.compare == "advisor compare 'my runs/trace.json' after.json"
    assert CARD.rule in way.expected
    assert CARD.amount in way.expected
    # As the card words it: a bound is no estimate.
    assert way.expected == f"Promised for {CARD.rule}: at most {CARD.amount} ({CARD.share})."
    assert "as you recorded this trace" in way.record_note
