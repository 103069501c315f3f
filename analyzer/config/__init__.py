"""`[tool.advisor]` in pyproject.toml, or advisor.toml: which rules run, with which thresholds, and which findings are accepted.

    [tool.advisor]                      # in advisor.toml: the top level
    select = ["DL", "SY001"]
    ignore = ["PG006"]
    fail-on = "high"
    gate = ["step_ns<=+3%"]             # for `advisor compare`
    rule-seconds = 120                  # a rule that takes longer is given up

    [tool.advisor.rules.DL001]
    min_ratio = 0.1

    [[tool.advisor.accept]]
    id = "DL001-6d1f"
    reason = "synthetic data, loaded in the step on purpose"
    until = 2027-01-31

Every problem of a file is reported at once, each with its key and the nearest valid name.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.config.limit import KNOWN, Limit, limit_of
from analyzer.config.nearest import KEYS, PROJECT_FILE, misspelt, nearest_word
from analyzer.config.nearest import find_config as find_config
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A notation's error may quote the file.
_MOST_CHARACTERS = 300
# Who has more has another file in its place.
_MOST_MISTAKES = 20
# Of every unit; so many nanoseconds are three centuries.
_MOST_LIMIT = 2**63
_SEVERITIES = ("high", "medium", "low")
_ACCEPT_KEYS = ("id", "reason", "until")


class Accepted(msgspec.Struct, frozen=True):
    """A finding the team has decided to live with.

    Args:
        id: The finding's id.
        reason: Why; never empty.
        until: Last day on which it is accepted; None for no end.
    """

    id: str
    reason: str
    until: datetime.date | None

    def holds(self, today: datetime.date) -> bool:
        """Whether the acceptance has not expired."""
        return self.until is None or today <= self.until


class Config(msgspec.Struct, frozen=True):
    """A read and checked configuration; empty where there is no file.

    Args:
        path: The file, or None.
        select: Codes or prefixes to run; empty for all.
        ignore: Codes or prefixes not to run.
        fail_on: Severity from which the exit code is 1, or None.
        gate: Limits of `advisor compare`; empty for no gate.
        limits: Thresholds by rule code and name that replace the defaults.
        accepted: Findings that do not fail a gate.
        rule_seconds: How long one rule may take; None for the default.
    """

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    gate: tuple[Limit, ...] = ()
    limits: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()
    rule_seconds: float | None = None


def load_config(path: Path, rules: Sequence[Rule]) -> Config:
    """Reads one file and checks every key and value of it.

    Args:
        path: advisor.toml or pyproject.toml.
        rules: The catalogue, for codes and names of thresholds.

    Raises:
        UsageError: It cannot be read, or holds mistakes; all of them are in the message.
    """
    try:
        # Editors on Windows put a mark before the first line.
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    # ValueError: also that of text in another encoding, of numbers too long for Python and of errors in the notation.
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            "the configuration cannot be read",
            where=str(path),
            why=(getattr(error, "strerror", None) or str(error))[:_MOST_CHARACTERS],
            fix=f"{'name' if isinstance(error, FileNotFoundError) else 'mend'} the file, or go without it with --isolated",
        ) from error
    table: Any = document
    prefix = ""
    if path.name == PROJECT_FILE:
        tool = document.get("tool", {})
        if not isinstance(tool, dict) or "advisor" not in tool:
            other = misspelt(document)
            raise UsageError(
                f"{path.name} holds no table [tool.advisor]"
                + (f", but one that nothing reads: [tool.{other}]" if other else ""),
                where=str(path),
                fix="write [tool.advisor], or go without the file with --isolated",
            )
        table = tool["advisor"]
        prefix = "tool.advisor."
    checker = _Checker(prefix, rules)
    config = checker.config(path, table)
    if checker.problems:
        raise UsageError(
            f"{path.name} holds {len(checker.problems)} mistake{'s' if len(checker.problems) > 1 else ''}:\n"
            + "\n".join(f"  - {problem}" for problem in checker.problems[:_MOST_MISTAKES])
            + (f"\n  and {more:,} more" if (more := len(checker.problems) - _MOST_MISTAKES) > 0 else ""),
            where=str(path),
            fix="correct them; `advisor rules` lists the codes, `advisor rule CODE` a rule's thresholds",
        )
    return config


class _Checker:
    """Collects every problem of one file."""

    def __init__(self, prefix: str, rules: Sequence[Rule]) -> None:
        self._prefix = prefix
        self._rules = {rule.meta.code: rule for rule in rules}
        self.problems: list[str] = []

    def config(self, path: Path, table: Any) -> Config:
        if not isinstance(table, dict):
            self._say("", "is no table")
            return Config(path)
        self._unknown("", table, KEYS)
        fail_on = table.get("fail-on")
        if fail_on is not None and fail_on not in _SEVERITIES:
            self._say("fail-on", f"{fail_on!r} is no severity{nearest_word(str(fail_on), _SEVERITIES)}")
        return Config(
            path=path,
            select=self._codes("select", table.get("select", [])),
            ignore=self._codes("ignore", table.get("ignore", [])),
            fail_on=fail_on if fail_on in _SEVERITIES else None,
            gate=self._gate(table.get("gate", [])),
            limits=self._limits(table.get("rules", {})),
            accepted=self._accepted(table.get("accept", [])),
            rule_seconds=self._seconds(table.get("rule-seconds")),
        )

    def _seconds(self, value: Any) -> float | None:
        if value is None:
            return None
        # A day; what waits longer for a rule overflows the clocks of some systems.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
            self._say("rule-seconds", f"{value!r} is no number of seconds, such as 120")
            return None
        return float(value)

    def _codes(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._say(key, "must be a list of rule codes, such as ['DL', 'SY001']")
            return ()
        for item in value:
            if not item or not any(code.startswith(item) for code in self._rules):
                self._say(key, f"no rule begins with {item!r}{nearest_word(item, self._rules)}")
        return tuple(value)

    def _gate(self, value: Any) -> tuple[Limit, ...]:
        lines = [value] if isinstance(value, str) else value
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            self._say("gate", "must be a list of limits, such as ['step_ns<=+3%']")
            return ()
        found = [limit_of(line) for line in lines]
        for line, limit in zip(lines, found, strict=True):
            if limit is None:
                what = line.partition("<=")[0].strip()
                near = nearest_word(what, KNOWN) if what not in KNOWN else "; write it as step_ns<=+3%"
                self._say("gate", f"{line[:60]!r} is no limit{near}")
        return tuple(limit for limit in found if limit is not None)

    def _limits(self, value: Any) -> dict[str, dict[str, float]]:
        limits: dict[str, dict[str, float]] = {}
        if not isinstance(value, dict):
            self._say("rules", "must hold one table per rule")
            return limits
        for code, given in value.items():
            rule = self._rules.get(code)
            if rule is None:
                self._say(f"rules.{code}", f"no such rule{nearest_word(code, self._rules)}")
            elif not isinstance(given, dict):
                self._say(f"rules.{code}", "must be a table of thresholds")
            else:
                limits[code] = self._thresholds(rule, given)
        return limits

    def _thresholds(self, rule: Rule, given: Mapping[str, Any]) -> dict[str, float]:
        units = {threshold.name: threshold.unit for threshold in rule.meta.thresholds}
        key = f"rules.{rule.meta.code}"
        self._unknown(key + ".", given, tuple(units))
        result = {}
        for name, value in given.items():
            if name not in units:
                continue
            # What is no number at all (nan) is neither below a limit nor above it: no gate would ever fail.
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_LIMIT:
                self._say(f"{key}.{name}", f"{_short(value)} is no number from 0 on")
            elif units[name] == "ratio" and value > 1:
                self._say(f"{key}.{name}", f"{_short(value)} is a share: write 0.05 for 5 %")
            else:
                result[name] = float(value)
        return result

    def _accepted(self, value: Any) -> tuple[Accepted, ...]:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._say("accept", "must be a list of tables with id, reason and until")
            return ()
        accepted = []
        for index, item in enumerate(value):
            key = f"accept[{index}]"
            self._unknown(key + ".", item, _ACCEPT_KEYS)
            identity, reason, until = item.get("id"), item.get("reason"), item.get("until")
            if not isinstance(identity, str) or identity.partition("-")[0] not in self._rules:
                self._say(f"{key}.id", f"{identity!r} is no id of a finding, such as 'DL001-6d1f'")
            if not isinstance(reason, str) or not reason.strip():
                self._say(f"{key}.reason", "say why the finding is accepted")
            if until is not None and not isinstance(until, datetime.date):
                self._say(f"{key}.until", f"{until!r} is no date; write it bare: 2027-01-31")
            day = until.date() if isinstance(until, datetime.datetime) else until
            accepted.append(Accepted(str(identity), str(reason), day if isinstance(day, datetime.date) else None))
        return tuple(accepted)

    def _unknown(self, prefix: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                self._say(prefix + key, f"unknown key{nearest_word(key, known)}")

    def _say(self, key: str, problem: str) -> None:
        self.problems.append(f"{(self._prefix + key).rstrip('.')}: {problem}")


def _short(value: Any) -> str:
    return repr(value)[:40]
