from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import Theme

from analyzer.tui.look.themes import ADVISOR_ANSI, ADVISOR_DARK, ADVISOR_LIGHT, CAUSES_DARK, THEMES

TEXTS = ("body", "quiet", "sev-high", "sev-medium", "sev-low", "sev-info", "good", "bad", "heading", "key", "code")
LEAST = 4.5


def luminance(name: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in Color.parse(name).normalized
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def ratio(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [ADVISOR_DARK, ADVISOR_LIGHT], ids=lambda theme: theme.name)
def test_every_text_is_readable_on_every_surface(theme: Theme) -> None:
    surfaces = [theme.background, *(theme.variables[name] for name in ("bar-back", "block-back", "cursor-back"))]
    for text in TEXTS:
        for surface in surfaces:
            assert surface is not None
            assert ratio(theme.variables[text], surface) >= LEAST, (text, surface)
    assert ratio(theme.variables["tab-text"], theme.variables["tab-back"]) >= LEAST


@pytest.mark.parametrize("theme", [ADVISOR_DARK, ADVISOR_LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("cause", CAUSES_DARK)
def test_labels_are_readable_inside_their_segment(theme: Theme, cause: str) -> None:
    assert ratio(theme.variables["ink"], theme.variables[f"cause-{cause}"]) >= LEAST


def test_every_theme_defines_the_same_names() -> None:
    names = set(ADVISOR_DARK.variables)
    assert all(names <= set(theme.variables) for theme in THEMES)


# What terminals mean by the colours labels are written on: xterm, Linux console, Windows Terminal.
PALETTES = {
    "xterm": {
        "green": "#00cd00", "yellow": "#cdcd00", "magenta": "#cd00cd", "cyan": "#00cdcd", "white": "#e5e5e5",
        "bright_red": "#ff0000", "bright_green": "#00ff00", "bright_yellow": "#ffff00", "bright_blue": "#5c5cff",
        "bright_magenta": "#ff00ff", "bright_cyan": "#00ffff", "bright_white": "#ffffff",
    },
    "linux": {
        "green": "#00aa00", "yellow": "#aa5500", "magenta": "#aa00aa", "cyan": "#00aaaa", "white": "#aaaaaa",
        "bright_red": "#ff5555", "bright_green": "#55ff55", "bright_yellow": "#ffff55", "bright_blue": "#5555ff",
        "bright_magenta": "#ff55ff", "bright_cyan": "#55ffff", "bright_white": "#ffffff",
    },
    "windows": {
        "green": "#13a10e", "yellow": "#c19c00", "magenta": "#881798", "cyan": "#3a96dd", "white": "#cccccc",
        "bright_red": "#e74856", "bright_green": "#16c60c", "bright_yellow": "#f9f1a5", "bright_blue": "#3b78ff",
        "bright_magenta": "#b4009e", "bright_cyan": "#61d6d6", "bright_white": "#f2f2f2",
    },
}  # fmt: skip
# What is usually large enough for a label; the others are rarely wider than a cell.
LABELLED = ("compute", "communication", "copy", "input", "optimizer", "framework", "launch", "device_wait")


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("cause", LABELLED)
def test_labels_are_readable_in_sixteen_colours_whatever_the_terminal_means_by_them(palette: str, cause: str) -> None:
    colour = ADVISOR_ANSI.variables[f"cause-{cause}"].removeprefix("ansi_")
    assert ADVISOR_ANSI.variables["ink"] == "ansi_black"
    assert ratio("#000000", PALETTES[palette][colour]) >= 3.9
