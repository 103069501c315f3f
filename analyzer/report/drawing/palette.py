"""Colours of the causes, those of the terminal UI: cool is useful work, warm is waste; text on each has a contrast of 4.5."""

from __future__ import annotations

from analyzer.cause_names import Cause

LIGHT: dict[Cause, str] = {
    "compute": "#1F6FB2", "communication": "#0B7285", "copy": "#2F7D32", "device_wait": "#4A6684", "input": "#B5460F",
    "allocator": "#8A5A20", "sync": "#A23B78", "transfer_call": "#A8456F", "optimizer": "#6F6413", "compile": "#7B46A8",
    "launch": "#7F6003", "framework": "#5A6684", "python": "#A4502F", "unexplained": "#626262",
}  # fmt: skip
DARK: dict[Cause, str] = {
    "compute": "#4D9FE3", "communication": "#4FC1B0", "copy": "#A8DDF2", "device_wait": "#7FA3C7", "input": "#EC7D45",
    "allocator": "#D19A66", "sync": "#D583B0", "transfer_call": "#E9A9C6", "optimizer": "#CFC06A", "compile": "#C59AE0",
    "launch": "#E5BE45", "framework": "#8F9BB8", "python": "#F2A68C", "unexplained": "#9E9E9E",
}  # fmt: skip
_WORDS_LIGHT = {
    "back": "#FFFFFF", "surface": "#F6F7F9", "line": "#D5D9DF", "text": "#1C1C1C", "quiet": "#5A5A5A", "ink": "#FFFFFF",
    "high": "#B23A06", "medium": "#7A5A00", "low": "#3F5A85", "info": "#5A5A5A", "good": "#00694A", "bad": "#A8201A",
    "link": "#0B5C94", "code": "#E9ECF0", "added": "#DFF5EA", "removed": "#FCE7E4", "slow": "#B5460F",
}  # fmt: skip
_WORDS_DARK = {
    "back": "#121212", "surface": "#1C1C1C", "line": "#3A3A3A", "text": "#E4E4E4", "quiet": "#A8A8A8", "ink": "#121212",
    "high": "#FF8A5C", "medium": "#F0C24F", "low": "#A9BBD9", "info": "#A8A8A8", "good": "#54CBA4", "bad": "#FF8A80",
    "link": "#8FD0F5", "code": "#303030", "added": "#12291F", "removed": "#331A17", "slow": "#EC7D45",
}  # fmt: skip


def variables(dark: bool) -> str:
    """The colours as CSS custom properties."""
    words, causes = (_WORDS_DARK, DARK) if dark else (_WORDS_LIGHT, LIGHT)
    named = {**words, **{f"cause-{cause.replace('_', '-')}": colour for cause, colour in causes.items()}}
    return "".join(f"--{name}:{colour};" for name, colour in named.items())


def css() -> str:
    """Rules that colour a drawing, light or dark as the reader's system is."""
    causes = "".join(f".c-{name}{{fill:var(--cause-{name})}}" for name in (cause.replace("_", "-") for cause in LIGHT))
    return (
        f":root{{color-scheme:light dark;{variables(dark=False)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{variables(dark=True)}}}}}\n"
        f"{causes}\n"
        "svg text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:12px;"
        "fill:var(--text)}\n"
        "svg .inside{fill:var(--ink);font-weight:600;text-anchor:middle}svg .middle{text-anchor:middle}"
        "svg .over{font-weight:600;text-anchor:middle;paint-order:stroke;stroke:var(--back);stroke-width:3px}"
        "svg .part{fill:none;stroke:var(--line)}"
        "svg .end{text-anchor:end}svg .quiet{fill:var(--quiet)}svg .strong{font-weight:600}\n"
        "svg .grid{stroke:var(--line)}svg .bracket{fill:none;stroke:var(--high);stroke-width:2}svg .strip{fill:var(--high)}"
        "svg .name{fill:var(--high);"
        "font-weight:600}\n"
        "svg .used{fill:var(--cause-framework)}svg .drawn{fill:var(--good)}svg .slow{fill:var(--slow)}"
        "svg .roof{fill:none;stroke:var(--text);stroke-width:1.5}svg .dot{fill-opacity:.7;stroke:var(--back)}"
        "svg .dot.compute{fill:var(--cause-compute)}svg .dot.memory{fill:var(--cause-copy)}svg .dot.unknown{fill:var(--quiet)}"
        "svg .module{fill-opacity:.3}svg .m0{fill:var(--cause-compute)}svg .m1{fill:var(--cause-copy)}"
        "svg .m2{fill:var(--cause-launch)}svg .m3{fill:var(--cause-framework)}svg .late{fill:var(--slow)}"
        "svg .halo{paint-order:stroke;stroke:var(--back);stroke-width:3px}\n"
        "svg .j-work{fill:var(--cause-compute)}svg .j-move{fill:var(--cause-communication)}svg .j-wait{fill:var(--code);"
        "stroke:var(--slow)}svg .j-hatch{fill:none;stroke:var(--slow)}svg .j-none{fill:var(--code)}svg .j-heat{fill:var(--slow)}\n"
        "svg .ribbon{fill-opacity:.12}svg .ribbon.moved{fill-opacity:.45}"
        "svg .promise{fill:none;stroke:var(--text)}svg .band{fill:var(--good);fill-opacity:.25}"
        "svg .came{fill:none;stroke:var(--good);stroke-width:2.5}svg .reserved{fill:none;stroke:var(--slow);stroke-width:1.5}"
        "svg .out{fill:none;stroke:var(--quiet);stroke-dasharray:3 2}\n"
    )
