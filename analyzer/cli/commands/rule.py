"""`advisor rule CODE`: a rule's page."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from analyzer.cli import codes
from analyzer.cli.streams.output import encodable, write
from analyzer.cli.streams.terminal import is_terminal, style_for
from analyzer.page.words import safe

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

    rule, style = codes.find(code, load_rules()), style_for(sys.stdout)
    shown = rendered(rule, style) if is_terminal(sys.stdout) else page(rule, style)
    write(encodable(shown), None)


def rendered(rule: Rule, style: Style) -> str:
    """The rule's page as a terminal shows Markdown: headings, lists and code without their marks."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    head, *body = inspect.cleandoc(rule.page).split("\n")
    # A terminal's own colours, on its own background.
    own = Theme(
        {"markdown.code": "cyan", "markdown.h2": "bold", "markdown.item.number": "none", "markdown.item.bullet": "none"}
    )
    console = Console(
        theme=own, file=io.StringIO(), width=style.width, force_terminal=style.color, no_color=not style.color, highlight=False,
        color_system="standard" if style.color else None, legacy_windows=False, emoji=False, safe_box=not style.unicode,
    )  # fmt: skip
    text = "\n".join(map(safe.clean, body))
    console.print(Markdown(text, code_theme="ansi_dark", justify="left"))
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    return style.encode("\n".join([*_head(rule, head, style), *(line.rstrip() for line in drawn.splitlines())]) + "\n")


def page(rule: Rule, style: Style) -> str:
    """The rule's page, its paragraphs filled to the width; code, lists and tables stay as they are written."""
    head, *body = inspect.cleandoc(rule.page).split("\n")
    return style.encode("\n".join([*_head(rule, head, style), *_filled(body, style)]) + "\n")


def _head(rule: Rule, head: str, style: Style) -> Iterator[str]:
    meta = rule.meta
    yield from (style.paint(line, "title") for line in safe.wrap(head, style.width))
    yield style.paint(f"{meta.title} · {meta.name} · {meta.family.replace('_', ' ')}", "dim")


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
