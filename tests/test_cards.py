"""One card per change: what is shown first never asks for one and the same change twice, on any world and any recorded trace."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from analyzer.analysis import CARD_RATIO, FindingDocument
from analyzer.explain import explain_facts
from known.scenarios import SCENARIOS, facts_of
from rules import RULES
from running.recorded import recorded, told_of


@cache
def on_world(code: str) -> dict[str, FindingDocument]:
    analysis = explain_facts(facts_of(code), rules=RULES).analysis
    return {item.rule: item for item in analysis.findings}


def cards(items: Iterable[FindingDocument]) -> list[FindingDocument]:
    return [item for item in items if not item.explained_by and item.saving.ratio_max >= CARD_RATIO]


def change_of(item: FindingDocument) -> str:
    """What the first fix changes: its first line of code that is added, without remarks."""
    fix = item.fix[0]
    lines = [line for line in fix.code.splitlines() if fix.language != "diff" or line.startswith("+")]
    return lines[0].split("#")[0].strip(" +") if lines else fix.code


def assert_no_change_twice(items: Iterable[FindingDocument]) -> None:
    changes = [(change_of(item), item.rule) for item in cards(items)]
    assert len({change for change, _ in changes}) == len(changes), sorted(changes)


@pytest.mark.parametrize("code", sorted(SCENARIOS))
def test_no_world_has_a_change_twice(code: str) -> None:
    assert_no_change_twice(on_world(code).values())


@pytest.mark.parametrize("code", sorted(SCENARIOS))
def test_changed_lines_are_indented_as_the_program_is(code: str) -> None:
    for item in on_world(code).values():
        for fix in item.fix:
            # The first column of a diff is no part of the program.
            lines = [line[1:] for line in fix.code.splitlines() if fix.language == "diff"]
            depths = {len(line) - len(line.lstrip(" ")) for line in lines if line.strip()}
            assert not any(depth % 4 for depth in depths), (item.rule, fix.code)


@pytest.mark.parametrize("path", recorded())
def test_no_recorded_trace_has_a_change_twice(path: Path) -> None:
    assert_no_change_twice(told_of(path).analysis.findings)


@pytest.mark.parametrize(
    ("world", "card", "within"),
    [
        ("CO001", "CO001", "CO002"),
        ("CO002", "CO001", "CO002"),
        ("CO003", "CO003", "CO001"),
        ("GR004", "ID001", "GR004"),
        ("ID001", "ID001", "GR004"),
        ("ME005", "KE001", "ME005"),
        ("XF006", "XF002", "XF006"),
        ("DL002", "DL002", "DL001"),
        ("DL006", "DL006", "DL002"),
    ],
)
def test_pairs_with_one_fix_are_one_card(world: str, card: str, within: str) -> None:
    items = on_world(world)
    assert not items[card].explained_by
    assert items[card].id in items[within].explained_by
    # What stands for another saves at least half of what that one claims, so that no loss vanishes from sight.
    assert items[card].saving.ns_per_step_max >= items[within].saving.ns_per_step_max / 2


def test_the_card_holds_what_the_other_would_have_said() -> None:
    items = on_world("GR004")
    titles = [piece.title for piece in items["ID001"].evidence]
    assert "what capturing needs" in titles
    codes = [fix.code for fix in items["ID001"].fix]
    assert {fix.code for fix in items["GR004"].fix} <= set(codes)
    assert len(set(codes)) == len(codes)
