from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import Theme

from analyzer.tui.themes import ADVISOR_DARK, ADVISOR_LIGHT, CAUSES_DARK, THEMES

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
