"""Commands of a GitHub log: ten at most, each one line that nothing inside can end or begin anew."""

import re

import msgspec
import pytest

from analyzer.analysis import Location
from analyzer.report import github
from showing import analyses, comparisons

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
    comparisons.since_baseline, comparisons.since_hostile_baseline,
]  # fmt: skip
COMMAND = re.compile(r"^::(warning|notice) [a-z]+=[^:,]*(,[a-z]+=[^:,]*)*::.+$")


@pytest.mark.parametrize("build", EXAMPLES)
def test_every_line_is_one_command(build):
    text = github.render(build())
    assert text.endswith("\n")
    assert [line for line in text.splitlines() if not COMMAND.match(line)] == []
    assert all(line.isprintable() for line in text.split("\n"))
    assert not re.search(r"%(?!25|0A|0D|3A|2C)", text)


def test_finding_stands_at_its_line():
    first = github.render(analyses.example()).splitlines()[0]
    assert first.startswith("::warning file=train.py,line=88,title=advisor DL002%3A DataLoader has no workers::The GPU")


def test_a_library_is_not_annotated():
    base = analyses.example()
    elsewhere = Location("lib/python3.11/site-packages/torch/optim/adam.py", 12, "step")
    moved = msgspec.structs.replace(base.cards[0], location=elsewhere)
    first = github.render(msgspec.structs.replace(base, findings=(moved,))).splitlines()[0]
    assert first.startswith("::warning title=advisor DL002")


def test_ten_findings_and_a_count_of_the_rest():
    base = analyses.example()
    many = tuple(
        msgspec.structs.replace(base.findings[1], id=f"DL-{number}", rank=number, explained_by=())
        for number in range(22)
    )
    lines = github.render(msgspec.structs.replace(base, findings=many)).splitlines()
    assert len(lines) == 11
    assert "12 more findings in the summary" in lines[-1]


def test_distrust_is_one_warning():
    lines = github.render(analyses.unusable()).splitlines()
    assert len(lines) == 1
    assert "cannot be the base of advice" in lines[0]
