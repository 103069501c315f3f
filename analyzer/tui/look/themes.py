"""The colours. Cool is useful work, warm is waste; greys are those of the 256-colour palette.

Everything drawn names a variable (`$cause-input`, `$quiet`), so a theme changes all of it. `advisor-ansi` uses the
terminal's own 16 colours; `advisor-plain` none at all, for NO_COLOR: there the patterns of `glyphs` tell causes apart.
"""

from __future__ import annotations

from typing import Any

from textual.theme import BUILTIN_THEMES, Theme

CAUSES_DARK = {
    "compute": "#4D9FE3",
    "communication": "#4FC1B0",
    "copy": "#A8DDF2",
    "device_wait": "#7FA3C7",
    "input": "#EC7D45",
    "allocator": "#D19A66",
    "sync": "#D583B0",
    "transfer_call": "#E9A9C6",
    "optimizer": "#CFC06A",
    "compile": "#C59AE0",
    "launch": "#E5BE45",
    "framework": "#8F9BB8",
    "python": "#F2A68C",
    "unexplained": "#9E9E9E",
}
CAUSES_LIGHT = {
    "compute": "#1F6FB2",
    "communication": "#0B7285",
    "copy": "#2F7D32",
    "device_wait": "#4A6684",
    "input": "#B5460F",
    "allocator": "#8A5A20",
    "sync": "#A23B78",
    "transfer_call": "#A8456F",
    "optimizer": "#6F6413",
    "compile": "#7B46A8",
    "launch": "#7F6003",
    "framework": "#5A6684",
    "python": "#A4502F",
    "unexplained": "#626262",
}
# Labels on them are black: red, blue and magenta are too dark for that on most terminals, their bright forms are not.
CAUSES_ANSI = {
    "compute": "ansi_cyan",
    "communication": "ansi_bright_green",
    "copy": "ansi_bright_cyan",
    "device_wait": "ansi_bright_blue",
    "input": "ansi_bright_red",
    "allocator": "ansi_bright_white",
    "sync": "ansi_bright_magenta",
    "transfer_call": "ansi_magenta",
    "optimizer": "ansi_bright_yellow",
    "compile": "ansi_bright_green",
    "launch": "ansi_yellow",
    "framework": "ansi_white",
    "python": "ansi_green",
    "unexplained": "ansi_white",
}

DARK = {
    "text": "#E4E4E4",
    "quiet": "#9E9E9E",
    "ink": "#121212",
    "sev-high": "#FF8A5C",
    "sev-medium": "#F0C24F",
    "sev-low": "#A9BBD9",
    "sev-info": "#9E9E9E",
    "good": "#54CBA4",
    "bad": "#FF8A80",
    "heading": "#8FD0F5",
    "key": "#F0C24F",
    "code": "#F0D48A",
    "tab-text": "#121212",
    "tab-back": "#E4E4E4",
    "cursor-back": "#303030",
    "frame": "#585858",
}
LIGHT = {
    "text": "#1C1C1C",
    "quiet": "#5F5F5F",
    "ink": "#FFFFFF",
    "sev-high": "#B23A06",
    "sev-medium": "#7A5A00",
    "sev-low": "#3F5A85",
    "sev-info": "#5F5F5F",
    "good": "#00694A",
    "bad": "#A8201A",
    "heading": "#0B5C94",
    "key": "#7A5A00",
    "code": "#6B4A00",
    "tab-text": "#FFFFFF",
    "tab-back": "#303030",
    "cursor-back": "#E4E4E4",
    "frame": "#9E9E9E",
}
ANSI = {
    "text": "ansi_default",
    "quiet": "ansi_default",
    "ink": "ansi_black",
    "sev-high": "ansi_red",
    "sev-medium": "ansi_yellow",
    "sev-low": "ansi_cyan",
    "sev-info": "ansi_default",
    "good": "ansi_green",
    "bad": "ansi_red",
    "heading": "ansi_cyan",
    "key": "ansi_yellow",
    "code": "ansi_yellow",
    "tab-text": "ansi_black",
    "tab-back": "ansi_white",
    "cursor-back": "ansi_default",
    "frame": "ansi_default",
}


def _variables(words: dict[str, str], causes: dict[str, str]) -> dict[str, str]:
    """The names used in styles, and Textual's own that would clash with them."""
    named = {f"cause-{cause}": colour for cause, colour in causes.items()}
    footer = {
        "footer-background": words["bar-back"],
        "footer-item-background": words["bar-back"],
        "footer-key-background": words["bar-back"],
        "footer-description-background": words["bar-back"],
        "footer-key-foreground": words["key"],
        "footer-description-foreground": words["text"],
        "footer-foreground": words["text"],
    }
    native = dict(BUILTIN_THEMES["ansi-dark"].variables) if words["bar-back"].startswith("ansi") else {}
    own = {name: colour for name, colour in words.items() if name != "text"}
    return {**native, **own, "body": words["text"], **named, **footer}


def _theme(name: str, words: dict[str, str], causes: dict[str, str], **colours: Any) -> Theme:
    return Theme(
        name=name,
        primary=words["heading"],
        secondary=words["quiet"],
        accent=words["heading"],
        warning=words["sev-medium"],
        error=words["bad"],
        success=words["good"],
        foreground=words["text"],
        variables=_variables(words, causes),
        **colours,
    )


_TERMINAL = {part: "ansi_default" for part in ("background", "surface", "panel", "boost")}
ADVISOR_DARK = _theme(
    "advisor-dark", {**DARK, "bar-back": "#262626", "block-back": "#1C1C1C"}, CAUSES_DARK,
    background="#121212", surface="#1C1C1C", panel="#262626", dark=True,
)  # fmt: skip
ADVISOR_LIGHT = _theme(
    "advisor-light", {**LIGHT, "bar-back": "#E4E4E4", "block-back": "#EEEEEE"}, CAUSES_LIGHT,
    background="#FFFFFF", surface="#EEEEEE", panel="#E4E4E4", dark=False,
)  # fmt: skip
ADVISOR_ANSI = _theme(
    "advisor-ansi",
    {**ANSI, "bar-back": "ansi_default", "block-back": "ansi_default"},
    CAUSES_ANSI,
    ansi=True,
    **_TERMINAL,
)
ADVISOR_PLAIN = _theme(
    "advisor-plain",
    {name: "ansi_default" for name in (*ANSI, "bar-back", "block-back")},
    {name: "ansi_default" for name in CAUSES_ANSI},
    ansi=True,
    **_TERMINAL,
)
THEMES = (ADVISOR_DARK, ADVISOR_LIGHT, ADVISOR_ANSI, ADVISOR_PLAIN)
