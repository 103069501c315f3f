"""Every rule on every world of known truth: its own, the one beside it, healthy loops and samples, in all dialects.

`python tests/confusion.py` prints the table. What is known of other recorded traces is asked in `test_calibration.py`.
"""

from __future__ import annotations

import dataclasses

import pytest

from analyzer.engine import judge, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.dialects import DIALECTS
from confusion import PLAIN, SAID, on_healthy, on_recorded, on_scenario, runs_of, speaks, table
from known.expected import OF_SAMPLES, Expected
from known.sayings import Saying
from known.scenarios import RULE_BY_CODE, SCENARIOS
from known.verdicts import VERDICTS, Known
from programs.healthy import HEALTHY
from rules import RULES
from stories.all_of_them import STORIES, share
from stories.story import Story

every_rule = pytest.mark.parametrize("code", sorted(RULE_BY_CODE))

OF_TORCH_1_10 = "totals of allocated memory exist since torch 1.10"
NO_METADATA = "the bare list of torch 1.8 has no place for what the collector records"
# Where a rule cannot see its fault, and why; it has to say so itself.
CANNOT_SEE = {
    **{
        ("torch 1.8", code): NO_METADATA
        for code in ("CP001", "CP002", "CP003", "DL007", "DL008", "ID004", "IN005", "KE014", "KE015")
    },
    **{
        (version, code): OF_TORCH_1_10
        for version in ("torch 1.8", "torch 1.9")
        for code in ("ME002", "ME003", "ME004", "ME005")
    },
    **{
        (version, "PY008"): "ranges stand among the ops: one without `::` is a range"
        for version in ("torch 1.8", "torch 1.9")
    },
    (
        "torch 1.8",
        "KE001",
    ): "this world states neither warps nor the number of multiprocessors; recorded traces state warps",
    ("torch 1.8", "IN002"): "how many multiprocessors the device has: blocks are stated for each",
    ("torch 1.8", "KE012"): "which card it is, and how fast its memory",
    ("torch 1.8", "PR002"): "which card it is",
    ("ROCm", "IN002"): "kernels of graphs state no grid",
    ("ROCm", "PR002"): "TF32 is a format of NVIDIA cards",
    ("ROCm", "PR003"): "names of kernels state no alignment; shapes would tell",
    ("ROCm", "XF001"): "copies do not say whether they are pinned",
    ("ROCm", "XF007"): "copies do not say whether they are pinned",
}


def test_every_rule_has_a_scenario() -> None:
    assert sorted(SCENARIOS) == sorted(RULE_BY_CODE)


@every_rule
def test_a_rule_fires_on_its_own_world_and_not_on_the_one_beside(code: str) -> None:
    assert on_scenario(code, fires=True).cell == "TP"
    assert on_scenario(code, fires=False).cell == "TN"


@every_rule
def test_the_same_in_every_dialect(code: str) -> None:
    for dialect in DIALECTS:
        if not speaks(code, dialect):
            continue
        seen = on_scenario(code, fires=True, dialect=dialect)
        wanted = "abstains" if (dialect, code) in CANNOT_SEE else "TP" if seen.should else "TN"
        assert seen.cell == wanted, dialect
        beside = on_scenario(code, fires=False, dialect=dialect)
        assert beside.cell == ("TP" if beside.should else "TN"), dialect


@pytest.mark.parametrize("known", VERDICTS, ids=lambda known: known.name)
def test_a_verdict_is_what_is_true_of_its_world(known: Known) -> None:
    assert known.said() == known.bound_by


@pytest.mark.parametrize("saying", SAID, ids=lambda saying: f"{saying.what}: {saying.of}")
def test_what_is_said_is_true_of_its_world(saying: Saying) -> None:
    assert saying.said() is saying.true


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_a_healthy_loop_has_no_high_or_medium_finding(name: str) -> None:
    facts = Facts(HEALTHY[name]().trace())
    trust = grade(facts)
    found = judge(facts, run_rules(facts, RULES, trust), trust)
    assert [item.rule.meta.code for item in found if item.severity in (Severity.HIGH, Severity.MEDIUM)] == []
    # Nor any other finding, but what holds of a healthy loop as well.
    assert [(case.code, case.cell) for case in on_healthy(name) if case.cell in ("FP", "FN")] == []
    assert facts.steps.count >= 3
    assert trust.verdict == "ok"


def test_a_fault_in_a_healthy_loop_is_seen() -> None:
    """The healthy loops are no blind spot: with one fault put into one of them, its rule fires."""
    builder = HEALTHY["eager on CUDA"]()
    for event in builder.events:
        if event["cat"] == "kernel":
            event["args"]["blocks per SM"] = 0.25
    assert runs_of(Facts(builder.trace()))["KE001"].state is State.FIRED


@pytest.mark.parametrize("line", OF_SAMPLES, ids=lambda line: line.name.split(".")[0])
def test_what_is_known_of_a_sample_is_said(line: Expected) -> None:
    cells = {case.code: case.cell for case in on_recorded(line)}
    assert {code: cell for code, cell in cells.items() if cell in ("FP", "FN")} == {}
    assert set(line.fires) <= cells.keys()


def test_the_table_has_a_row_for_every_rule_and_tells_what_is_wrong() -> None:
    # The answers themselves are those of the tests above and of the stories; `python tests/confusion.py` draws all of them.
    given = (*on_healthy("CPU"), on_scenario("DL001", fires=True), on_scenario("DL001", fires=False))
    said = (Saying("late", "a late rank", True, lambda: True), Saying("late", "none is", False, lambda: False))
    known = min(VERDICTS, key=lambda one: len(one.make().events))
    printed = table(given, said, (known,), lambda: "stories").splitlines()
    assert len([line for line in printed if line[:5].strip() in SCENARIOS]) == len(SCENARIOS)
    assert [line for line in printed if line.startswith(("FP", "FN"))] == []
    assert "said: late: 1 TP, 0 FP, 0 FN, 1 TN (a late rank: yes; none is: no)" in printed
    assert f"verdict: {known.name}: {known.bound_by}, {known.bound_by} is true" in printed
    assert printed[-1] == "stories"
    wrong = dataclasses.replace(given[-1], state=State.FIRED)
    untrue = Saying("late", "all are early", False, lambda: True)
    printed = table((*given, wrong), (*said, untrue), (), lambda: "").splitlines()
    assert f"FP DL001 on the world beside, {PLAIN}" in printed
    assert "FP late: all are early" in printed
    assert PLAIN not in DIALECTS


def test_the_share_of_stories_tells_what_is_not_right() -> None:
    named = {story.name: story for story in STORIES}
    right, silent = named["bound by memory"], named["float16 on a CPU"]
    parts = {"kind": right.kind, "source": right.source, "truth": right.truth, "make": right.make}
    wrong = Story("other verdict", bound=("input",), **parts)
    assert share({"some": (right, silent), "others": (wrong,)}).splitlines() == [
        "stories: 1 of 3 told right (33%), 1 wrong, 1 silent",
        "stories: some: 1 of 2 told right (50%), 0 wrong, 1 silent",
        "stories: others: 0 of 1 told right (0%), 1 wrong, 0 silent",
        f"silent story: {silent.name}: {', '.join(silent.missing)} ({silent.source})",
        f"wrong story: other verdict: {', '.join(wrong.untrue)} ({right.source})",
    ]
