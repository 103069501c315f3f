"""`advisor rule CODE`: a rule's page."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

import click

from analyzer.cli import codes
from analyzer.cli.output import encodable, write
from analyzer.cli.terminal import style_for

if TYPE_CHECKING:
    from analyzer.report.style import Style
    from analyzer.rule import Rule


@click.command("rule", short_help="Show what a rule finds, why it matters and how to fix it.")
@click.argument("code")
def command(code: str) -> None:
    """Show what a rule finds, why it matters and how to fix it.

    CODE is a rule's code (DL001, also dl001) or its name.
    """
    from analyzer.explain import load_rules

    write(encodable(page(codes.find(code, load_rules()), style_for(sys.stdout))), None)


def page(rule: Rule, style: Style) -> str:
    """The rule's page under its code, title and name; headings stand out where there are colours."""
    meta = rule.meta
    head = [
        style.paint(f"{meta.code} {meta.title}", "title"),
        style.paint(f"{meta.name} · {meta.family.replace('_', ' ')}", "dim"),
        "",
    ]
    body = [
        style.paint(line, "strong") if is_heading(line) else line for line in inspect.cleandoc(rule.doc).splitlines()
    ]
    return style.encode("\n".join([*head, *body]) + "\n")


def is_heading(line: str) -> bool:
    """Whether a line of a page is a heading: `## Fix`, or `Fix:` on a line of its own."""
    return line.startswith("#") or (line[:1].isupper() and line.endswith(":") and len(line) < 40)
