"""`rules/README.md`, made of the rules' own pages.

`python -m analyzer.report.rule_pages` writes it; a test fails where it is stale. The catalogue comes by name, not by an
import: reports do not depend on rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

from analyzer.rule import Rule, Threshold
from analyzer.units import count, duration, share, size

FILE = "README.md"
_HEAD = """# Rules

<!-- Written by `python -m analyzer.report.rule_pages` from the docstrings of the rules; change those. -->

What `advisor` looks for: {rules} in {families}. Each rule measures time that is lost, states an upper bound or an estimate of what
its fix saves, and says so when it cannot tell. `advisor rules` lists them, `advisor rule CODE` shows a page of this file in the
terminal. Thresholds are the defaults; `[tool.advisor.rules.CODE]` in pyproject.toml changes them.
"""


def catalogue() -> tuple[Path, tuple[Rule, ...]]:
    """The folder of the rules that come with this package, and these rules."""
    package = import_module("rules")
    return Path(inspect.getfile(package)).parent, tuple(package.RULES)


def render(rules: Sequence[Rule]) -> str:
    """The whole file.

    Args:
        rules: The catalogue, in any order.
    """
    by_family = sorted(rules, key=lambda rule: (rule.meta.family, rule.meta.code))
    families = [(name, list(group)) for name, group in groupby(by_family, key=lambda rule: rule.meta.family)]
    lines = [_HEAD.format(rules=count(len(rules), "rule"), families=count(len(families), "family", "families"))]
    for name, group in families:
        lines += [f"**{_words(name)}**", "", "| code | finds | needs |", "|---|---|---|"]
        lines += [_row(rule) for rule in group]
        lines.append("")
    for name, group in families:
        lines += [f"## {_words(name)}", ""]
        for rule in group:
            lines += [*_page(rule), ""]
    return "\n".join(lines).rstrip() + "\n"


def anchor(rule: Rule) -> str:
    """The name of a rule's heading in a link, as GitHub makes it."""
    return f"{rule.meta.code}-{rule.meta.name}".lower()


def _words(family: str) -> str:
    return "CPU" if family == "cpu" else family.replace("_", " ").capitalize()


def _row(rule: Rule) -> str:
    meta = rule.meta
    needs = ", ".join(sorted(need.name.lower().replace("_", " ") for need in meta.needs))
    return f"| [{meta.code}](#{anchor(rule)}) | {meta.title} | {needs} |"


def _page(rule: Rule) -> Iterator[str]:
    head, *body = inspect.cleandoc(rule.doc).split("\n")
    meta = rule.meta
    yield f"### {meta.code} {meta.name}"
    yield ""
    yield head.partition(": ")[2][:1].upper() + head.partition(": ")[2][1:]
    limits = {f"- `{limit.name}`:": limit for limit in meta.thresholds}
    in_code = False
    for line in body:
        in_code ^= line.startswith("```")
        if line.startswith("## ") and not in_code:
            yield f"##{line}"
            continue
        key = line[: line.find(":") + 1]
        yield line.replace(key, f"{key[:-1]}, {_value(limits[key])}:", 1) if key in limits and not in_code else line


def _value(limit: Threshold) -> str:
    if limit.unit == "ratio":
        return share(limit.value)
    if limit.unit == "ns":
        return duration(limit.value)
    return size(limit.value) if limit.unit == "bytes" else f"{limit.value:g}"


def main() -> None:
    """Writes the file beside the rules."""
    folder, rules = catalogue()
    (folder / FILE).write_text(render(rules), encoding="utf-8")


if __name__ == "__main__":
    main()
