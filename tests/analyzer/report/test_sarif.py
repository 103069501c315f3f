"""SARIF: only what has a place, at a level and under a name that stay."""

import json

import msgspec
import pytest

from analyzer.report import sarif
from showing import analyses

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip


def run_of(analysis):
    return json.loads(sarif.render(analysis))["runs"][0]


@pytest.mark.parametrize("build", EXAMPLES)
def test_every_result_has_a_rule_a_file_and_a_line(build):
    run = run_of(build())
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    # GitHub's code scanning requires these of each rule.
    assert all(
        rule[key]["text"] for rule in run["tool"]["driver"]["rules"] for key in ("shortDescription", "fullDescription")
    )
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        uri = place["artifactLocation"]["uri"]
        assert uri.isascii()
        assert not uri.startswith("/")
        assert ":" not in uri
        assert result["message"]["text"].isprintable()


def test_findings_without_a_line_and_explained_ones_are_left_out():
    run = run_of(analyses.example())
    assert [result["ruleId"] for result in run["results"]] == ["advisor/DL002", "advisor/SY001"]
    assert [result["partialFingerprints"]["advisorFinding/v1"] for result in run["results"]] == [
        "DL002-6d1f",
        "SY001-02aa",
    ]


def test_what_is_left_out_is_counted():
    base = analyses.example()
    results = run_of(base)["results"]
    shown = [one for one in base.findings if not one.explained_by]
    assert sarif.unplaced(base) == len(shown) - len(results) > 0
    placed = tuple(one for one in base.findings if one.location is not None)
    assert sarif.unplaced(msgspec.structs.replace(base, findings=placed)) == 0


def test_levels_are_never_errors():
    run = run_of(analyses.example())
    assert {result["level"] for result in run["results"]} == {"warning"}
    assert "num_workers=8" in run["tool"]["driver"]["rules"][0]["help"]["markdown"]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("src/train.py", "src/train.py"), ("./train.py", "train.py"), ("my code/train.py", "my%20code/train.py"),
        ("a\\b.py", "a/b.py"), ("/abs/train.py", None), ("…/train.py", None), ("../train.py", None), ("<string>", None),
        ("C:/x/train.py", None), ("lib/site-packages/x.py", None),
    ],
)  # fmt: skip
def test_only_files_of_the_project_count(file, uri):
    base = analyses.example()
    place = msgspec.structs.replace(base.findings[1].location, file=file)
    one = msgspec.structs.replace(base.findings[1], location=place)
    results = run_of(msgspec.structs.replace(base, findings=(one,)))["results"]
    found = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert found == ([uri] if uri else [])


def test_same_analysis_same_log():
    assert sarif.render(analyses.example()) == sarif.render(analyses.example())
