"""An `Analysis` as one HTML file that opens anywhere: no request, no framework, complete without its script.

The policy in its head lets run exactly one script and one style sheet, those whose digests it states; a name in a trace that
looks like markup is text, and would not run if it were not.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import msgspec
from markupsafe import Markup

from analyzer.analysis import ELEMENT_ID, Analysis
from analyzer.page.words.of_steps import label
from analyzer.report.drawing import palette
from analyzer.report.html.prose import embedded
from analyzer.report.html.view import view

if TYPE_CHECKING:
    from analyzer.report.from_trace import FromTrace

__all__ = ["drawn", "render"]

_HERE = Path(__file__).parent
# A page beyond this opens slowly; what it shows stays, the data for opening it again become smaller.
_DATA_LIMIT = 2_000_000
_WHOLE = "It holds its data: `advisor explain` opens this file again."
_SMALLER = "It holds its data without the evidence, which was too large: `advisor explain` opens this file again."
_NONE = "Its data were too large to be held here: write them with -o report.json."
# A part has one script of its name, but for these.
_SCRIPTS = {"viewer": ("viewer_drawing", "viewer")}


def render(analysis: Analysis, found: FromTrace | None = None) -> str:
    """The page, ending in a newline.

    Args:
        analysis: The document.
        found: Views of the trace itself: the timeline that can be zoomed, tables of all operators and kernels, memory; the page
            has none of them without.
    """
    data, note = _data(analysis)
    page = view(analysis, note, found, with_data=data is not None)
    shown = {"viewer": page.viewer, "what_if": page.what_if, "flame": page.modules}
    parts = ("page", "tables", *(part for part, wanted in shown.items() if wanted))
    return drawn("page.html.j2", page, data, ELEMENT_ID, parts)


def drawn(
    template: str, page: object, data: Markup | None, data_id: str, parts: tuple[str, ...] = ("page", "tables")
) -> str:
    """A page of a template of this folder, with the policy that lets run nothing but our own script and style.

    Args:
        template: Its name.
        page: What it shows.
        data: What the page holds for programs.
        data_id: The id of the element that holds them.
        parts: The names of its style sheets and scripts.
    """
    style = palette.css() + "".join(_text(f"{part}.css") for part in (*parts, "print"))
    script = "".join(_text(f"{name}.js") for part in parts for name in _SCRIPTS.get(part, (part,)))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    rendered = _template(template).render(
        page=page, policy=policy, style=Markup(style), script=Markup(script), data=data, data_id=data_id
    )
    return rendered.strip() + "\n"


def _data(analysis: Analysis) -> tuple[Markup | None, str]:
    """The document for opening the page again, as much of it as fits, and what to say of it."""
    bare = tuple(msgspec.structs.replace(finding, evidence=()) for finding in analysis.findings)
    smaller = msgspec.structs.replace(analysis, findings=bare)
    for document, note in ((analysis, _WHOLE), (smaller, _SMALLER)):
        data = embedded(msgspec.json.encode(document))
        if len(data) <= _DATA_LIMIT:
            return data, note
    return None, _NONE


def _digest(text: str) -> str:
    """How a content security policy names an element's text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FileSystemLoader(_HERE),
    )  # fmt: skip
    environment.filters["words"] = label
    return environment.get_template(name)
