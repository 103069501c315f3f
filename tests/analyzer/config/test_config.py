"""Configuration files: found from below, checked whole, every mistake named with its key and the nearest right word."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.config import Config, find_config, load_config
from analyzer.rule import Rule, RuleMeta, Threshold
from traces.errors import UsageError

RULES = (
    Rule(
        RuleMeta("DL001", "input-bound", "data_loading", "t", thresholds=(Threshold("min_ratio", 0.05, "ratio", "w"),)),
        lambda facts, limits: iter(()),
        "doc",
    ),
    Rule(RuleMeta("SY001", "scalar-read", "sync", "t"), lambda facts, limits: iter(()), "doc"),
)


def load(folder: Path, text: str, name: str = "advisor.toml") -> Config:
    path = folder / name
    path.write_text(text)
    return load_config(path, RULES)


def test_everything_a_file_may_say(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
        select = ["DL"]
        ignore = ["SY001"]
        fail-on = "high"
        rule-seconds = 30
        gate = ["step_ns<=+3%", "input_ns <= 5%"]
        [rules.DL001]
        min_ratio = 0.1
        [[accept]]
        id = "DL001-6d1f"
        reason = "on purpose"
        until = 2027-01-31
        """,
    )
    assert (config.select, config.ignore, config.fail_on) == (("DL",), ("SY001",), "high")
    assert [str(limit) for limit in config.gate] == ["step_ns<=+3%", "input_ns<=+5%"]
    assert config.limits == {"DL001": {"min_ratio": 0.1}}
    assert config.rule_seconds == 30
    (accepted,) = config.accepted
    assert accepted.holds(datetime.date(2027, 1, 31))
    assert not accepted.holds(datetime.date(2027, 2, 1))


def test_the_table_of_pyproject(tmp_path: Path) -> None:
    assert load(tmp_path, '[tool.advisor]\nignore = ["SY"]\n', "pyproject.toml").ignore == ("SY",)


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(
            tmp_path,
            """
            selct = ["DL"]
            ignore = ["XX001"]
            fail-on = "hihg"
            gate = ["step<=+3%", "step_ns<=3"]
            [rules.DL001]
            min_ration = 0.1
            min_ratio = 5
            [rules.DL01]
            [[accept]]
            id = "nonsense"
            """,
        )
    message = str(caught.value)
    for part in (
        "selct: unknown key; did you mean 'select'?",
        "ignore: no rule begins with 'XX001'",
        "fail-on: 'hihg' is no severity; did you mean 'high'?",
        "gate: 'step<=+3%' is no limit; did you mean 'step_ns'?",
        "gate: 'step_ns<=3' is no limit; write it as step_ns<=+3%",
        "rules.DL001.min_ration: unknown key; did you mean 'min_ratio'?",
        "rules.DL001.min_ratio: 5 is a share: write 0.05 for 5 %",
        "rules.DL01: no such rule; did you mean 'DL001'?",
        "accept[0].id: 'nonsense' is no id of a finding",
        "accept[0].reason: say why the finding is accepted",
    ):
        assert part in message
    assert message.startswith("advisor.toml holds 10 mistakes:")


@pytest.mark.parametrize(
    "text",
    [
        "= nonsense",
        "select = 3",
        "gate = 3",
        'rules = "x"',
        'accept = ["x"]',
        "[rules]\nDL001 = 1",
        'rule-seconds = "x"',
        "rule-seconds = 0",
    ],
)
def test_wrong_shapes_are_mistakes_not_crashes(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        load(tmp_path, text)


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.advisor]\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert find_config(below) == tmp_path / "pyproject.toml"
    (tmp_path / "a" / "advisor.toml").write_text("")
    assert find_config(below) == tmp_path / "a" / "advisor.toml"


@pytest.mark.parametrize("name", ["advisr", "adviser", "Advisor", "trace-advisor"])
def test_a_table_that_is_surely_meant_is_not_passed_over(name: str, tmp_path: Path) -> None:
    """A gate that stands in it would be green."""
    path = tmp_path / "pyproject.toml"
    path.write_text(f'[tool.{name}]\nfail-on = "high"\n')
    assert find_config(tmp_path) == path
    with pytest.raises(UsageError, match=rf"no table \[tool\.advisor\], but one that nothing reads: \[tool\.{name}\]"):
        load_config(path, RULES)


@pytest.mark.parametrize(
    "text",
    [
        "[tool.adviser]\nfirst-visit = true\n",
        '[tool.advice]\nselect = ["a"]\n',
        "# [tool.advisor] would stand here\n[tool.other]\na = 1\n",
        "[tool.advis\n",
    ],
    ids=["another program's keys", "another name", "a comment", "broken, of another table"],
)
def test_the_table_of_another_program_is_passed_over(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_text(text)
    with_one = tmp_path / "advisor.toml"
    with_one.write_text("")
    assert find_config(tmp_path / "a") == with_one


@pytest.mark.parametrize("text", ["[tool]\n[ tool . advisor ]\n", '[tool."advisor"]\n', "tool.advisor.select = []\n"])
def test_the_table_may_be_written_as_the_notation_allows(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert find_config(tmp_path) == tmp_path / "pyproject.toml"
    assert load_config(tmp_path / "pyproject.toml", RULES) == Config(path=tmp_path / "pyproject.toml")


def test_a_project_named_in_the_call_without_the_table_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml holds no table \[tool\.advisor\]\n"):
        load_config(tmp_path / "pyproject.toml", RULES)


_VALUES = {
    "whole": "3", "broken": "1.5", "truth": "true", "text": '"x"', "empty": '""', "list": "[]", "of numbers": "[1]",
    "of lists": '[["a"]]', "table": "{a = 1}", "of tables": "[{a = 1}]", "day": "2027-01-31", "time": "07:32:00", "none": "nan",
    "endless": "inf", "large": "9223372036854775807", "negative": "-1",
}  # fmt: skip
_PLACES = (
    "select = {}", "ignore = {}", "fail-on = {}", "gate = {}", "rule-seconds = {}", "rules = {}", "accept = {}", "other = {}",
    "select = [{}]", "gate = [{}]", "rules = [{}]", "accept = [{}]", "[rules]\nDL001 = {}", "[rules.DL001]\nmin_ratio = {}",
    "[accept]\nid = {}", '[[accept]]\nid = {}\nreason = "r"', '[[accept]]\nid = "DL001-12ab"\nreason = {}',
    '[[accept]]\nid = "DL001-12ab"\nreason = "r"\nuntil = {}',
)  # fmt: skip


def said_of(folder: Path, text: str, name: str = "advisor.toml") -> str:
    """The error in words, or nothing; any other error fails the test that asks."""
    try:
        load(folder, text, name)
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("value", _VALUES.values(), ids=_VALUES)
@pytest.mark.parametrize("place", _PLACES)
def test_a_value_of_any_type_is_read_or_refused_in_words(place: str, value: str, tmp_path: Path) -> None:
    said = said_of(tmp_path, place.format(value))
    assert not said or "advisor.toml" in said


@pytest.mark.parametrize("text", ["tool = {}", "[tool]\nadvisor = {}"])
@pytest.mark.parametrize("value", _VALUES.values(), ids=_VALUES)
def test_a_project_of_any_type_is_read_or_refused_in_words(value: str, text: str, tmp_path: Path) -> None:
    said = said_of(tmp_path, text.format(value), "pyproject.toml")
    assert not said or "pyproject.toml" in said


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", "a = 1".encode("utf-16"), b"\0", b"a = " + b"[" * 100_000, b"a = " + b"9" * 10_000]
)
def test_what_is_no_settings_is_refused_in_words(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "advisor.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="the configuration cannot be read") as caught:
        load_config(path, RULES)
    assert len(caught.value.why or "") <= 300


@pytest.mark.parametrize("value", ["nan", "inf", "-nan", "1" + "0" * 400])
def test_what_no_figure_is_above_or_below_is_no_threshold(value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"rules\.DL001\.min_ratio: .* is no number from 0 on") as caught:
        load(tmp_path, f"[rules.DL001]\nmin_ratio = {value}\n")
    assert len(str(caught.value)) < 600


def test_of_many_mistakes_the_first_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds 50 mistakes") as caught:
        load(tmp_path, "\n".join(f"k{number} = 1" for number in range(50)))
    assert "k19: unknown key\n  and 30 more\n" in str(caught.value)
    assert "k20" not in str(caught.value)


def test_the_mark_of_an_editor_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "advisor.toml").write_bytes(b'\xef\xbb\xbfselect = ["DL"]\n')
    assert load_config(tmp_path / "advisor.toml", RULES).select == ("DL",)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.symlink_to("nowhere"), "a link that leads to no file"),
        (lambda path: path.symlink_to(path), "a link that leads to no file"),
        (lambda path: path.mkdir(), "it is no file"),
    ],
    ids=["leads nowhere", "leads to itself", "folder"],
)
def test_settings_that_are_there_and_cannot_be_read_are_not_passed_over(
    make: Callable[[Path], None], why: str, tmp_path: Path
) -> None:
    """A gate that stands in them would be green."""
    make(tmp_path / "advisor.toml")
    (tmp_path / "below").mkdir()
    with pytest.raises(UsageError, match="cannot be read") as caught:
        find_config(tmp_path / "below")
    assert why in str(caught.value)
