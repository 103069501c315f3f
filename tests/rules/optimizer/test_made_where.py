"""The place that makes an optimizer, in the words of a fix."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Advice, Confidence, Finding, Location
from building.builders import TraceBuilder
from rules.optimizer.per_parameter_updates import RULE
from running.one_rule import judged

OWN = {"class": "Adam", "package": None, "function": None, "file": "train.py", "line": 12}
LIBRARY = OWN | {"package": "darts", "function": "Model.configure", "line": 30}
UPDATE = ("aten::_to_copy", "aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_")
GENERIC = "-optimizer = torch.optim.Adam(model.parameters(), lr=lr)\n"


def found(rows: Any, **advisor: Any) -> Finding:
    """What OP001 finds of ten parameters that are updated one by one on the CPU."""
    builder = TraceBuilder(None, top={"advisor": {"optimizer_code": rows, **advisor}})
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).optimizer(at + 50_000, 50_000, "Adam")
        builder.op("aten::linear", at, 50_000)
        for index in range(50):
            builder.op(UPDATE[index % len(UPDATE)], at + 50_000 + index * 1000, 900)
    return judged(RULE, builder).finding


def fix(rows: Any, **advisor: Any) -> Advice:
    return found(rows, **advisor).fix[0]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([OWN], " It is made at train.py:12."),
        ([OWN, OWN | {"line": 14}], " It is made at train.py:12 and train.py:14."),
        ([OWN, OWN | {"class": "SGD", "line": 14}], " It is made at train.py:12."),
    ],
)
def test_the_programs_own_lines_stand_behind_the_diff(rows: Any, words: str) -> None:
    advice = fix(rows)
    assert advice.language == "diff"
    assert advice.code.startswith(GENERIC)
    assert f"{words} " in f"{advice.note} "


def test_what_a_library_makes_is_no_line_of_the_programs() -> None:
    advice = fix([LIBRARY])
    assert (advice.language, advice.code) == (
        "text",
        "`fused=True` for `Adam`, among the arguments that darts gives it (`Model.configure`, called from train.py:30).",
    )
    alone = fix([LIBRARY | {"file": None, "line": None}])
    assert alone.code.endswith("gives it (`Model.configure`).")


def test_a_framework_with_words_of_its_own_keeps_them() -> None:
    frameworks = {"imported": {"skorch": "1"}, "loop": ["skorch.net"], "data": [], "loader": [], "arguments": None}
    advice = fix([LIBRARY | {"package": "skorch"}], frameworks=frameworks)
    assert "optimizer__fused=True" in advice.code
    assert "made at" not in advice.note


@pytest.mark.parametrize(
    "rows",
    [
        None, 7, [], [7], [{}], [OWN | {"line": "12"}], [OWN | {"line": True}], [OWN | {"file": None}], [OWN | {"class": 1}],
        [OWN | {"package": "darts"}], [OWN | {"file": None, "line": None}], [OWN | {"class": "SGD"}],
        [OWN, LIBRARY], [OWN | {"line": line} for line in (1, 2, 3, 4)],
    ],
)  # fmt: skip
def test_what_is_not_known_or_too_much_is_not_said(rows: Any) -> None:
    advice = fix(rows)
    assert (advice.language, "made at" in advice.note) == ("diff", False)
    assert advice.code.startswith(GENERIC)


def test_the_only_line_of_the_programs_own_is_where_it_is() -> None:
    assert found([OWN]).location == Location("train.py", 12, None)
    assert found([OWN, OWN | {"line": 14}]).location is None
    assert found([LIBRARY]).location is None


LINE = "opt = optim.Adam(net.parameters(), lr=1e-4)"


def test_the_change_is_one_of_that_very_line() -> None:
    advice = fix([OWN | {"text": LINE}])
    assert advice.code == f"-{LINE}\n+opt = optim.Adam(net.parameters(), lr=1e-4, fused=True)"
    assert fix([OWN | {"text": LINE}, OWN | {"line": 14, "text": LINE}]).code.startswith(GENERIC)
    assert fix([OWN | {"text": 7}]).code.startswith(GENERIC)


def test_a_class_that_has_only_the_name_of_torchs() -> None:
    """It is not asked for what it does not take, and torch's is named beside a way for the class itself."""
    theirs = OWN | {"class_package": "neuralop", "takes": [], "text": LINE}
    finding = found([theirs])
    assert finding.confidence is Confidence.MEDIUM
    assert "torch.optim.Adam(model.parameters(), lr=lr, fused=True)" in finding.fix[0].code
    assert "`neuralop`'s own and takes no `fused`" in finding.fix[0].note
    assert "_foreach_add_" in finding.fix[1].code
    assert "the program's own" in found([theirs | {"class_package": "__main__"}]).fix[0].note
    assert LINE not in str(finding.fix)


@pytest.mark.parametrize(
    "known", [{"class_package": "torch", "takes": ["foreach", "fused"]}, {"class_package": "mine", "takes": ["fused"]}]
)
def test_a_class_that_takes_it_is_asked(known: Any) -> None:
    finding = found([OWN | known | {"text": LINE}])
    assert finding.confidence is Confidence.HIGH
    assert finding.fix[0].code == f"-{LINE}\n+opt = optim.Adam(net.parameters(), lr=1e-4, fused=True)"
