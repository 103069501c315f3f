"""The whole job on files: rules found by entry point, options, steps that are not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import Analysis
from analyzer.engine import plugins
from analyzer.explain import Options, analyse, load_rules
from analyzer.rule import Rule, RuleMeta
from building.builders import TraceBuilder
from rules import RULES
from running.made_rules import rule
from traces.errors import AdvisorError, UsageError


class Point:
    """An entry point that loads what it is given."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value, self._loaded, self.dist = name, f"package_{name}:RULES", value, None

    def load(self) -> Any:
        if isinstance(self._loaded, BaseException):
            raise self._loaded
        return self._loaded


class Unwilling(tuple[Rule, ...]):
    __slots__ = ()

    def __iter__(self) -> Any:
        raise ValueError("not one by one")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def install(*points: Point) -> None:
        load_rules.cache_clear()
        monkeypatch.setattr(plugins, "entry_points", lambda group: list(points))

    yield install
    load_rules.cache_clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    builder = TraceBuilder()
    for number in range(3, 8):
        at = number * 100
        builder.step(number, at, 100).loader(at, 40)
        builder.launch(at + 40, kernel_start=at + 50, kernel_dur=45)
    return builder.write(tmp_path / "trace.json")


def states(analysis: Analysis) -> dict[str, str]:
    return {check.rule: check.state for check in analysis.checks}


def test_a_path_may_be_text(path: Path) -> None:
    assert states(analyse(str(path))) == states(analyse(path))


def test_our_rules_are_found_in_order() -> None:
    found = load_rules()
    assert [one.meta.code for one in found] == sorted(one.meta.code for one in RULES)


def test_what_is_installed_is_looked_for_once(installed: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(Point("builtin", (rule("DL001"),)))
    analyse(path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: pytest.fail("a second look"))
    assert states(analyse(path)).keys() >= {"DL001"}


def test_rules_of_other_packages_are_added(installed: Any) -> None:
    installed(Point("builtin", (rule("DL001"),)), Point("team", (rule("AC001"),)))
    assert [one.meta.code for one in load_rules()] == ["AC001", "DL001"]


def test_a_rule_registered_twice_is_one_rule(installed: Any) -> None:
    once = rule("DL001")
    installed(Point("a", (once,)), Point("b", (once,)))
    assert load_rules() == (once,)


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([], "no rules are installed"),
        (
            [Point("a", (rule("DL001"),)), Point("b", (rule("DL001"),))],
            "(?s)two packages have a rule DL001.*'a'.* and 'b'",
        ),
        ([Point("a", Unwilling())], "'a' cannot be loaded: ValueError: not one by one"),
        ([Point("a", ("DL001",))], "'a' registers something that is no rule"),
        ([Point("a", rule("DL001"))], "'a' registers something that is no rule"),
        ([Point("a", ImportError("no module named x"))], "'a' cannot be loaded"),
        ([Point("a", SystemExit(0))], r"'a' cannot be loaded: Ended: raised SystemExit\(0\)"),
        ([Point("a", RuntimeError("y" * 9_000))], "'a' cannot be loaded: RuntimeError: y{300}[.]{3}"),
        (
            [Point("a", (rule("DL001", before=("DL002",)), rule("DL002", before=("DL001",))))],
            "rules wait for one another",
        ),
        ([Point("a", (rule("DL001", before=("DL001",)),))], "rules wait for one another"),
        (
            [Point("a", (Rule(RuleMeta("DL001", "n", "f", "t"), lambda facts: iter(()), "page"),))],  # type: ignore[arg-type, misc]
            "'a' has a rule DL001 whose check cannot be called",
        ),
        ([Point("a", (Rule(RuleMeta(7, "n", "f", "t"), print, "page"),))], "'a' registers something that is no rule"),  # type: ignore[arg-type]
    ],
)
def test_a_broken_registry_is_a_message(installed: Any, points: list[Point], says: str) -> None:
    installed(*points)
    with pytest.raises(AdvisorError, match=says):
        load_rules()


def test_all_rules_run(path: Path) -> None:
    found = states(analyse(path))
    assert list(found) == [one.meta.code for one in load_rules()]
    assert found["DL001"] == "fired"
    assert "crashed" not in found.values()


@pytest.mark.parametrize(
    ("options", "disabled"),
    [
        (Options(select=("DL",)), lambda code: not code.startswith("DL")),
        (Options(select=("DL001",)), lambda code: code != "DL001"),
        (Options(ignore=("DL", "PG")), lambda code: code.startswith(("DL", "PG"))),
        (Options(select=("DL",), ignore=("DL001",)), lambda code: not code.startswith("DL") or code == "DL001"),
    ],
)
def test_select_and_ignore(path: Path, options: Options, disabled: Any) -> None:
    found = states(analyse(path, options))
    assert {code for code, state in found.items() if state == "disabled"} == {code for code in found if disabled(code)}


def test_chosen_steps_are_used(path: Path) -> None:
    made = analyse(path, Options(steps=(4, 5)))
    assert [row.step for row in made.steps if row.used] == [4, 5]
    assert made.summary.used_steps == 2


def test_steps_that_are_not_there_are_a_message(path: Path) -> None:
    with pytest.raises(UsageError, match=r"no step of trace\.json is within --steps 20-30") as caught:
        analyse(path, Options(steps=(20, 30)))
    assert "it has steps 3 to 7" in str(caught.value)
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError, match=r"within --steps 20\n"):
        analyse(path, Options(steps=(20, 20)))


def test_steps_of_a_trace_without_marks_are_a_message(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=5)
    with pytest.raises(UsageError, match="it has no step marks"):
        analyse(builder.write(tmp_path / "trace.json"), Options(steps=(0, 1)))


def test_progress_is_told(path: Path) -> None:
    told: list[str] = []
    analyse(path, Options(), lambda stage, done, total: told.append(stage))
    assert {"measuring", "checking"} <= set(told)


def test_raising_from_progress_cancels(path: Path) -> None:
    class Cancelled(Exception):
        """The person pressed c."""

    def cancel(stage: str, done: int, total: int) -> None:
        if stage == "checking":
            raise Cancelled

    with pytest.raises(Cancelled):
        analyse(path, Options(), cancel)


def test_the_same_file_gives_the_same_document(path: Path) -> None:
    assert analyse(path) == analyse(path)


def test_rules_are_of_the_contract() -> None:
    found = load_rules()
    assert found
    assert all(isinstance(one, Rule) for one in found)
