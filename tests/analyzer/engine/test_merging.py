"""When two findings are one change, and what their card holds."""

from __future__ import annotations

from analyzer.engine import Judged, judge, reachable_ns, run_rules
from analyzer.engine.merging import combined, same_change
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Location, Saving
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.shortened import Shortened
from building.builders import TraceBuilder
from running.made_rules import claim, finding, rule

COMPILE = Advice("python", "model = torch.compile(model)")
PIN = Advice("diff", "+pin_memory=True")
PROSE = Advice("text", "Look at it.")


def with_fix(*fix: Advice, at: tuple[int, int] = (0, 400), kernel_us: int = 0, **changes: object) -> Finding:
    return finding(claim(at, kernel_us=kernel_us), fix=fix, **changes)


def judged(*findings: Finding) -> tuple[Facts, dict[str, Judged]]:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
        builder.launch(number * 1_000, kernel_start=number * 1_000 + 500, kernel_dur=500, call_dur=10)
    facts = Facts(builder.trace())
    trust = TrustGrade((), True, 4)
    rules = [rule(f"SY{index:03}", one) for index, one in enumerate(findings)]
    return facts, {item.rule.meta.code: item for item in judge(facts, run_rules(facts, rules, trust), trust)}


def test_the_same_first_fix_is_the_same_change_wherever_the_time_is() -> None:
    assert same_change(with_fix(PIN), with_fix(PIN, COMPILE, at=(500, 900)))


def test_a_shared_alternative_is_the_same_change_only_for_the_same_time() -> None:
    assert same_change(with_fix(PIN, COMPILE), with_fix(COMPILE, at=(200, 500)))
    assert same_change(with_fix(PIN, COMPILE, at=(0, 900)), with_fix(COMPILE, at=(800, 900)))
    # A quarter of the shorter one's time in common, or none claimed at all: another loss.
    assert not same_change(with_fix(PIN, COMPILE), with_fix(COMPILE, at=(300, 700)))
    assert not same_change(finding(fix=(PIN, COMPILE)), finding(fix=(COMPILE,)))


def test_prose_is_no_change() -> None:
    assert not same_change(with_fix(PROSE), with_fix(PROSE))


def test_two_places_are_two_changes() -> None:
    here, there = (Location("train.py", line, "step") for line in (8, 9))
    assert not same_change(with_fix(PIN, location=here), with_fix(PIN, location=there))
    assert same_change(with_fix(PIN, location=here), with_fix(PIN))


def test_the_card_has_the_time_of_both_once() -> None:
    both = combined(with_fix(PIN, kernel_us=10), with_fix(PIN, at=(200, 500), kernel_us=5))
    assert both.saving.claims.total_ns == 500_000
    assert both.saving.kernel_ns == 15_000


def test_kernels_that_both_shorten_count_once() -> None:
    spans = IntervalSet([0, 500_000], [100_000, 600_000])
    whole = Saving(kernel_ns=200_000, usual_kernel_ns=80_000, shortened=(Shortened(spans, 1.0),))
    first = Saving(kernel_ns=50_000, shortened=(Shortened(IntervalSet([0], [100_000]), 0.5),))
    both = combined(finding(whole, fix=(COMPILE,)), finding(first, fix=(COMPILE,))).saving
    assert both.kernel_ns == 200_000
    # One change: of the first span usually goes the larger of 40 and 50 %, of the other 40 %.
    assert both.usual_kernel_ns == 50_000 + 40_000
    apart = Saving(kernel_ns=50_000, shortened=(Shortened(IntervalSet([200_000], [300_000]), 0.5),))
    assert combined(finding(whole, fix=(COMPILE,)), finding(apart, fix=(COMPILE,))).saving.kernel_ns == 250_000


def test_the_card_has_the_fixes_evidence_and_caveats_of_both_once() -> None:
    bars = [Bars(title, "ns", (Bar("a", 1),)) for title in ("one", "two")]
    leader = with_fix(PIN, evidence=(bars[0],), caveats=("maybe",))
    both = combined(
        leader, with_fix(COMPILE, PIN, at=(0, 100), evidence=(bars[0], bars[1]), caveats=("maybe", "or not"))
    )
    assert both.fix == (PIN, COMPILE)
    assert both.evidence == tuple(bars)
    assert both.caveats == ("maybe", "or not")
    assert both.saving == leader.saving


def test_the_card_says_what_each_part_of_its_time_rests_on() -> None:
    one, other = (
        finding(Saving(claim(at).claims, basis=basis), fix=(PIN,)) for at, basis in (((0, 400), "a"), ((300, 500), "b"))
    )
    assert combined(one, other).saving.basis == "a; b"
    assert combined(one, one).saving.basis == "a"


def test_a_card_is_ranked_by_all_it_holds() -> None:
    _, items = judged(
        with_fix(COMPILE, at=(0, 500)), with_fix(PIN, at=(1_000, 1_400)), with_fix(PIN, at=(2_000, 2_300))
    )
    # What it holds comes right behind it.
    assert list(items) == ["SY001", "SY002", "SY000"]
    assert [code for code, item in items.items() if not item.explained_by] == ["SY001", "SY000"]


def test_doubtful_time_makes_the_card_doubtful() -> None:
    sure = with_fix(PIN, confidence=Confidence.HIGH)
    assert combined(sure, with_fix(PIN, at=(0, 100), confidence=Confidence.LOW)).confidence is Confidence.HIGH
    assert combined(sure, with_fix(PIN, at=(500, 600), confidence=Confidence.LOW)).confidence is Confidence.LOW


def test_the_most_worthwhile_leads_and_keeps_its_id() -> None:
    _, alone = judged(with_fix(PIN, at=(0, 400)))
    _, items = judged(with_fix(PIN, at=(0, 400)), with_fix(PIN, at=(300, 450)), with_fix(COMPILE, at=(0, 400)))
    assert items["SY000"].identity == alone["SY000"].identity
    assert items["SY001"].explained_by == (items["SY000"].identity,)
    assert items["SY000"].finding.saving.claims.total_ns == 450_000
    assert items["SY002"].explained_by == ()


def test_without_any_saving_nothing_is_put_together() -> None:
    _, items = judged(finding(fix=(PIN,)), finding(fix=(PIN,)))
    assert [item.explained_by for item in items.values()] == [(), ()]


def test_what_is_reachable_counts_kernel_time_of_a_card_once() -> None:
    facts, apart = judged(with_fix(PIN, kernel_us=40), with_fix(COMPILE, kernel_us=40))
    _, together = judged(with_fix(PIN, kernel_us=40), with_fix(PIN, kernel_us=40))
    assert together["SY001"].merged
    assert reachable_ns(facts, list(together.values())) == reachable_ns(facts, list(apart.values()))
