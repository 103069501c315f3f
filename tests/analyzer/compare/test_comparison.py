"""What a comparison says of findings, causes and conditions."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.compare.comparison import compare
from analyzer.compare.snapshot import Snapshot
from analyzer.report.comparison import rows
from showing.snapshots import CONDITIONS, finding, snapshot


def test_a_fixed_finding_whose_saving_came_true_is_confirmed() -> None:
    before = snapshot(10_000_000, findings=(finding("DL001", 4_000_000),))
    after = snapshot(7_000_000)
    (row,) = compare([before], [after]).rules
    assert (row.state, row.predicted_ns, row.left_ns, row.outcome) == ("fixed", 4_000_000, 0, "confirmed")
    assert row.realised_ns == pytest.approx(3_000_000, rel=0.01)


def test_more_than_all_that_was_promised_is_said_to_be_more() -> None:
    before = snapshot(10_000_000, findings=(finding("DL001", 1_000_000), finding("SY001", 1_000_000)))
    rows = compare([before], [snapshot(5_000_000)]).rules
    assert [row.outcome for row in rows] == ["exceeded", "exceeded"]
    within = compare([before], [snapshot(8_100_000)]).rules
    assert [row.outcome for row in within] == ["together", "together"]
    # What remains promised is not part of what came true.
    after = snapshot(8_000_000, findings=(finding("SY001", 1_000_000),))
    (fixed, still) = compare([before], [after]).rules
    assert (fixed.rule, fixed.outcome, still.outcome) == ("DL001", "exceeded", None)


@pytest.mark.parametrize(
    ("after_ns", "outcome", "words"),
    [
        (7_000_000, "confirmed", "confirmed: 3.0 ms faster"),
        (6_005_000, "reached", "all that was promised, or more: 4.0 ms faster"),
        (4_000_000, "exceeded", "more than promised: 6.0 ms faster"),
    ],
)
def test_what_exceeds_a_bound_confirms_nothing(after_ns: int, outcome: str, words: str) -> None:
    before = snapshot(10_000_000, findings=(finding("DL001", 4_000_000),))
    found = compare([before], [snapshot(after_ns)])
    (row,) = found.rules
    assert row.outcome == outcome
    assert rows.rules(found)[0][2:] == ("at most 4.0 ms", "-", words)


@pytest.mark.parametrize(
    ("after_ns", "words"),
    [
        (5_600_000, "as estimated: 4.4 ms faster"),
        (5_007_000, "as estimated, or more: 5.0 ms faster"),
        (3_000_000, "more than estimated: 7.0 ms faster"),
        (8_900_000, "less than estimated: 1.1 ms faster"),
    ],
)
def test_an_estimate_is_held_against_what_measured_pairs_brought(after_ns: int, words: str) -> None:
    one = msgspec.structs.replace(finding("DL001", 5_000_000), kind="estimate", ns_per_step_expected=4_000_000)
    found = compare([snapshot(10_000_000, findings=(one,))], [snapshot(after_ns)])
    assert rows.rules(found)[0][2:] == ("up to about 4.0 ms", "-", words)


def test_a_bound_of_which_nothing_was_likely_is_not_refuted() -> None:
    unlikely = msgspec.structs.replace(finding("PR001", 4_000_000), ns_per_step_expected=0)
    (row,) = compare([snapshot(10_000_000, findings=(unlikely,))], [snapshot(10_000_000, quiet=("PR001",))]).rules
    assert (row.state, row.predicted_ns, row.outcome) == ("fixed", 4_000_000, None)


def test_a_small_promise_beside_a_large_one_does_not_get_its_credit() -> None:
    before = snapshot(10_000_000, findings=(finding("DL001", 4_000_000), finding("SY001", 700_000)))
    outcomes = {row.rule: row.outcome for row in compare([before], [snapshot(6_500_000)]).rules}
    assert outcomes == {"DL001": "confirmed", "SY001": None}


def test_findings_of_the_same_time_do_not_take_each_others_credit() -> None:
    # A loader that three rules speak of, of which one knows only a part; the step gains a little more than what vanished.
    before = snapshot(
        10_000_000,
        findings=(
            finding("DL001", 5_000_000, ("DL002", "DL006")),
            finding("DL006", 5_000_000, ("DL001", "DL002")),
            finding("DL002", 3_000_000, ("DL001", "DL006")),
            finding("OP001", 500_000),
        ),
    )
    after = snapshot(4_930_000, findings=(finding("OP001", 400_000),), quiet=("DL001", "DL002", "DL006"))
    found = compare([before], [after])
    outcomes = {row.rule: row.outcome for row in found.rules}
    assert outcomes == {"DL001": "together", "DL006": "together", "DL002": None, "OP001": None}
    said = {cells[1][:5]: cells[4] for cells in rows.rules(found)}
    assert said["DL002"] == said["OP001"] == "together with others: 5.1 ms faster"
    # Without a word on what is shared, all four could account for it.
    apart = msgspec.structs.replace(
        before, findings=tuple(finding(one.rule, one.ns_per_step_max) for one in before.findings)
    )
    assert {row.outcome for row in compare([apart], [after]).rules} == {None}


def test_a_fixed_finding_without_a_faster_step_is_refuted() -> None:
    before = snapshot(findings=(finding("DL001", 4_000_000),))
    (row,) = compare([before], [snapshot()]).rules
    assert (row.state, row.outcome) == ("fixed", "refuted")


def test_a_small_part_of_the_promise_is_partly_true() -> None:
    before = snapshot(10_000_000, findings=(finding("DL001", 6_000_000),))
    (row,) = compare([before], [snapshot(9_000_000)]).rules
    assert row.outcome == "partly"


def test_with_too_few_steps_no_promise_is_judged() -> None:
    before = snapshot(count=5, findings=(finding("DL001", 4_000_000),))
    (row,) = compare([before], [snapshot(9_500_000, count=5)]).rules
    assert (row.state, row.outcome) == ("fixed", None)


def test_new_and_remaining_findings_are_told_apart() -> None:
    before = snapshot(findings=(finding("DL001", 4_000_000),))
    after = snapshot(findings=(finding("DL001", 4_000_000), finding("SY001", 1_000_000)))
    states = {row.rule: (row.state, row.outcome) for row in compare([before], [after]).rules}
    assert states == {"DL001": ("still", None), "SY001": ("new", None)}


def test_a_rule_that_could_not_look_is_not_called_fixed() -> None:
    before = snapshot(findings=(finding("ME002", 4_000_000),))
    (row,) = compare([before], [snapshot()]).rules
    assert (row.state, row.outcome) == ("not checked", None)


@pytest.mark.parametrize(
    ("field", "value"), [("device", "A100"), ("world_size", 8), ("batch", 128), ("steps_from", "inferred")]
)
def test_other_conditions_forbid_a_verdict(field: str, value: object) -> None:
    other = snapshot(5_000_000, conditions=msgspec.structs.replace(CONDITIONS, **{field: value}))
    found = compare([snapshot()], [other])
    assert not found.comparable
    assert found.change is None
    assert any(item.blocking for item in found.differences)


@pytest.mark.parametrize(
    ("field", "value"), [("torch", "2.8"), ("stacks", True), ("number_formats", ("c10::BFloat16",))]
)
def test_lesser_differences_are_named_beside_the_verdict(field: str, value: object) -> None:
    other = snapshot(5_000_000, conditions=msgspec.structs.replace(CONDITIONS, **{field: value}))
    found = compare([snapshot()], [other])
    assert found.change is not None
    assert [item.blocking for item in found.differences] == [False]


@pytest.mark.parametrize(
    ("after", "comparable"), [(1000, True), (900, True), (1100, True), (899, False), (1112, False)]
)
def test_another_model_forbids_a_verdict_and_a_dropped_bias_does_not(after: int, comparable: bool) -> None:
    before, changed = (
        snapshot(conditions=msgspec.structs.replace(CONDITIONS, parameters=number)) for number in (1000, after)
    )
    comparison = compare([before], [changed])
    assert comparison.comparable is comparable
    named = [difference.what for difference in comparison.differences if "model" in difference.what]
    assert len(named) == (after != 1000)


def test_what_a_trace_does_not_say_cannot_differ() -> None:
    silent = snapshot(conditions=msgspec.structs.replace(CONDITIONS, device=None, torch=None))
    assert compare([snapshot()], [silent]).differences == ()


def test_fewer_than_three_steps_are_refused() -> None:
    found = compare([snapshot(count=2)], [snapshot()])
    assert not found.comparable
    assert "too few steps" in found.differences[0].what
    assert found.differences[0].before == "2 used steps, at least 3 needed"
    found = compare([snapshot(count=1)], [snapshot()])
    assert found.differences[0].before == "1 used step, at least 3 needed"


def test_an_unusable_trace_is_refused() -> None:
    assert not compare([snapshot()], [snapshot(trust="unusable")]).comparable


def test_no_steps_at_all_is_no_crash() -> None:
    assert compare([snapshot(count=0)], [snapshot(count=0)]).change is None


LAYERS = ("64x3x7x7", "64x64x3x3", "128x64x3x3", "512x1000")


def layered(*layers: str) -> Snapshot:
    return snapshot(conditions=msgspec.structs.replace(CONDITIONS, layers=layers or None))


def test_another_model_gets_no_verdict_where_only_its_layers_tell() -> None:
    found = compare([layered(*LAYERS)], [layered("768x768", "768x3072", "768x50257")])
    assert [item.what for item in found.differences] == ["another model by its layers"]
    assert found.change is None


@pytest.mark.parametrize(
    "after",
    [
        LAYERS,
        # A compiler hides layers; padding rounds sizes up; one layer was exchanged; shapes were not recorded.
        LAYERS[:3],
        LAYERS[:1],
        ("64x4x7x7", "64x64x3x3", "128x64x3x3", "512x1000"),
        (*LAYERS[:3], "512x10"),
        # A file of a baseline may hold what is a digit to Python, and no number.
        (*LAYERS[:3], "512x²"),
        (),
    ],
)
def test_what_fixes_do_to_layers_keeps_the_verdict(after: tuple[str, ...]) -> None:
    assert compare([layered(*LAYERS)], [layered(*after)]).change is not None


def test_both_sides_lack_the_same_once() -> None:
    found = compare([snapshot(count=2)], [snapshot(count=2)])
    assert rows.answer(found) == "Not comparable: too few steps to compare. No verdict is given."


def test_what_cannot_be_compared_is_not_called_fixed() -> None:
    other = msgspec.structs.replace(CONDITIONS, device="A100")
    found = compare([snapshot(findings=(finding("DL001", 4_000_000),))], [snapshot(conditions=other)])
    assert [state for state, *_ in rows.rules(found)] == ["not found after"]
