"""`advisor rules`: the catalogue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.streams.output import encodable, write

if TYPE_CHECKING:
    from analyzer.rule import Rule


@click.command("rules", short_help="List every rule.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> None:
    """List every rule."""
    from analyzer.explain import load_rules

    rules = load_rules()
    if form == "json":
        write(json.dumps([entry(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n", None)
        return
    write(encodable(table([entry(rule) for rule in rules])), None)


def entry(rule: Rule) -> dict[str, Any]:
    """What is known of a rule without running it, as plain data."""
    meta = rule.meta
    return {
        "code": meta.code,
        "name": meta.name,
        "family": meta.family,
        "title": meta.title,
        "needs": sorted(need.name.lower() for need in meta.needs),
        "thresholds": [
            {"name": limit.name, "value": limit.value, "unit": limit.unit, "why": limit.why}
            for limit in meta.thresholds
        ],
        "explains": list(meta.explains),
        "references": list(meta.references),
    }


def table(entries: list[dict[str, Any]]) -> str:
    """A row per rule under its family."""
    lines: list[str] = []
    family = None
    for one in entries:
        if one["family"] != family:
            family = one["family"]
            lines += ([""] if lines else []) + [family.replace("_", " ")]
        needs = f"  needs {', '.join(one['needs'])}" if one["needs"] else ""
        lines.append(f"  {one['code']}  {one['title']:<38}  {one['name']:<34}{needs}".rstrip())
    number = len(entries)
    lines += ["", f"{number} rule{'' if number == 1 else 's'}. `advisor rule CODE` shows a rule's page."]
    return "\n".join(lines) + "\n"
