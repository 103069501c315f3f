"""`advisor rule CODE`: a rule's page."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from analyzer.cli import codes
from analyzer.cli.output import encodable, write
from analyzer.cli.terminal import style_for
from analyzer.report import safe

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
    """The rule's page, its paragraphs filled to the width; code, lists and tables stay as they are written."""
    meta = rule.meta
    head, *body = inspect.cleandoc(rule.doc).split("\n")
    lines = [style.paint(line, "title") for line in safe.wrap(head, style.width)]
    lines.append(style.paint(f"{meta.title} · {meta.name} · {meta.family.replace('_', ' ')}", "dim"))
    return style.encode("\n".join([*lines, *_filled(body, style)]) + "\n")


def _filled(lines: list[str], style: Style) -> Iterator[str]:
    paragraph: list[str] = []
    in_code = False
    for line in [*lines, ""]:
        fence = line.startswith("```")
        if not in_code and not fence and line[:1] and (line[0].isalpha() or line[0] in "`*("):
            paragraph.append(line)
            continue
        yield from safe.wrap(" ".join(paragraph), style.width)
        paragraph = []
        in_code ^= fence
        yield _painted(line, in_code or fence, style)


def _painted(line: str, is_code: bool, style: Style) -> str:
    if is_code:
        return style.paint(line, "code")
    return style.paint(line, "strong") if line.startswith("#") else line
