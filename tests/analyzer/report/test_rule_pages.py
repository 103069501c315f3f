"""rules/README.md: made of the rules' own pages, and fresh."""

from __future__ import annotations

import re

from analyzer.report.rule_pages import FILE, anchor, catalogue, render
from analyzer.rule import Rule, RuleMeta, Threshold
from traces.trace import Capability

PAGE = """SY009 hidden-wait: the host waits for nothing.

## What it finds
Waits.

## Example
```python
## no heading
loss.item()
```

## Thresholds
- `min_ratio`: share of the step.
- `min_count`: calls a step.
"""


def made() -> Rule:
    limits = (Threshold("min_ratio", 0.05, "ratio", "w"), Threshold("min_count", 3, "count", "w"))
    meta = RuleMeta(
        code="SY009", name="hidden-wait", family="data_loading", title="Waits", needs=frozenset({Capability.HOST_OPS}),
        thresholds=limits,
    )  # fmt: skip
    return Rule(meta, lambda facts, limits: iter(()), PAGE)


def test_a_page_is_the_docstring_under_the_rules_heading() -> None:
    text = render((made(),))
    assert "1 rule in 1 family." in text
    assert "| [SY009](#sy009-hidden-wait) | Waits | host ops |" in text
    assert (
        "## Data loading\n\n### SY009 hidden-wait\n\nThe host waits for nothing.\n\n#### What it finds\nWaits." in text
    )


def test_code_is_left_alone() -> None:
    assert "```python\n## no heading\nloss.item()\n```" in render((made(),))


def test_thresholds_show_their_defaults() -> None:
    text = render((made(),))
    assert "- `min_ratio`, 5.0 %: share of the step." in text
    assert "- `min_count`, 3: calls a step." in text


def test_the_file_is_fresh() -> None:
    folder, rules = catalogue()
    fresh = render(rules)
    stale = (folder / FILE).read_text(encoding="utf-8") != fresh
    assert not stale, "run `python -m analyzer.report.rule_pages` and commit rules/README.md"


def test_every_link_leads_somewhere() -> None:
    folder, rules = catalogue()
    text = (folder / FILE).read_text(encoding="utf-8")
    headings = {line[4:].lower().replace(" ", "-") for line in text.splitlines() if line.startswith("### ")}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings
    assert {anchor(rule) for rule in rules} <= headings
