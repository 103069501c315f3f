"""The few shapes drawings are made of. Every text is cleaned and escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from analyzer.page.words import safe

WIDTH = 960
# A telephone's page without its margins: letters keep their size there.
NARROW = 360
# Mean width of a letter at 12 px, as a person's system font has it; labels wider than their place are left out.
_LETTER = 7.1


@dataclass(frozen=True)
class Drawing:
    """A finished drawing: its size, its shapes, and what it shows in a sentence for those who do not see it."""

    height: int
    body: str
    label: str
    width: int = WIDTH

    @property
    def svg(self) -> Markup:
        """The drawing for the inside of a page; it scales with its width."""
        head = (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(safe.clean(self.label))}">'
        )
        return Markup(f"{head}{self.body}</svg>")

    def group(self, top: int) -> str:
        """The drawing as a part of a larger one."""
        return f'<g transform="translate(0 {top})">{self.body}</g>'


def width_of(text: str) -> float:
    """About how wide the text is drawn."""
    return safe.columns(text) * _LETTER


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def rect(x: float, y: float, width: float, height: float, classes: str, title: str = "", radius: int = 2) -> str:
    """A box; `title` shows when pointed at."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(max(width, 0.5))}" height="{number(height)}"'
    inner = f"<title>{escape(safe.clean(title))}</title>" if title else ""
    rounded = f' rx="{radius}"' if width > 6 else ""
    return (
        f'<rect class="{classes}" {place}{rounded}>{inner}</rect>'
        if inner
        else f'<rect class="{classes}" {place}{rounded}/>'
    )


def text(x: float, y: float, words: str, classes: str = "") -> str:
    """A line of text; `classes` says how it is set about `x`."""
    named = f' class="{classes}"' if classes else ""
    return f'<text{named} x="{number(x)}" y="{number(y)}">{escape(safe.clean(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """A straight line."""
    return f'<path class="{classes}" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>'


def area(corners: Sequence[tuple[float, float]], classes: str) -> str:
    """A filled area between corners, in order."""
    points = "L".join(f"{number(x)} {number(y)}" for x, y in corners)
    return f'<path class="{classes}" d="M{points}Z"/>'


def cause_class(cause: str) -> str:
    """The class that colours a cause."""
    return f"c-{cause.replace('_', '-')}"
