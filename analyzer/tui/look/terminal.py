"""What the terminal can show, decided before the app starts: Textual chooses its colour filter in its constructor."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

from analyzer.tui.look.glyphs import Glyphs, choose


@dataclass(frozen=True)
class Look:
    """A theme's name, the characters to draw with, and whether the terminal's own colours are used."""

    theme: str
    glyphs: Glyphs
    ansi: bool


def look_for(environ: Mapping[str, str], encoding: str, color_system: str | None) -> Look:
    """The look for a terminal.

    Args:
        environ: Environment: NO_COLOR, COLORFGBG (set by some terminals to their colours) and TEXTUAL_THEME count.
        encoding: The locale's encoding; without UTF-8 only ASCII is drawn.
        color_system: As Rich names it: None, standard, 256, truecolor.
    """
    unicode = "utf" in encoding.lower().replace("-", "")
    if "NO_COLOR" in environ or color_system is None:
        return Look("advisor-plain", choose(unicode=unicode, coloured=False), ansi=True)
    glyphs = choose(unicode=unicode, coloured=True)
    if color_system in ("standard", "windows"):
        return Look("advisor-ansi", glyphs, ansi=True)
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    theme = "advisor-light" if background in ("7", "15") else "advisor-dark"
    return Look(environ.get("TEXTUAL_THEME", theme), glyphs, ansi=False)


def current_look() -> Look:
    """The look for this process's terminal."""
    system = Console(force_terminal=True).color_system
    return look_for(os.environ, locale.getpreferredencoding(False), system)
