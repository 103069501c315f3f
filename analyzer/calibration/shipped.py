"""Writes the pairs that ship with the package, and the table of all pairs, from the zoo's own table.

    python -m analyzer.calibration.shipped traces/README.md

The table is written by `python tests/bench/zoo.py -o traces/README.md`. A row of several rules says nothing of one of them:
only rows with one are shipped; README.md beside this file shows them all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from analyzer.calibration.pairs import Pair
from analyzer.calibration.store import SHIPPED
from traces.patterns import Pattern

BEGIN, END = "<!-- pairs: begin -->", "<!-- pairs: end -->"
PAGE = SHIPPED.with_name("README.md")
_WRITTEN = Pattern(r"Written by `python tests/bench/zoo\.py[^`]*` on (\d{4}-\d\d-\d\d): (.*?)\.?$", re.MULTILINE)
_ROW = Pattern(
    r"^\| (?P<name>[\w-]+) \| (?P<rule>[A-Z]{2}\d{3}) \| [^|]+ \| (?P<promised>[\d.]+)% \| (?P<measured>-?[\d.]+)% \| [^|]+ \| "
    r"(?P<noise>[\d.]+)% \|$",
    re.MULTILINE,
)
_ROW_OF_ANY = Pattern(
    _ROW.pattern.replace(r"(?P<rule>[A-Z]{2}\d{3})", r"(?P<rules>[A-Z]{2}\d{3}(?:, [A-Z]{2}\d{3})*)"), re.MULTILINE
)


def pairs_of(text: str) -> Iterator[Pair]:
    """The pairs of a page that holds the zoo's table; none where it holds none."""
    written = _WRITTEN.search(text)
    if written is None:
        return
    for row in _ROW.finditer(text):
        yield Pair(
            rule=row["rule"],
            source="zoo",
            name=row["name"],
            promised_ratio=float(row["promised"]) / 100,
            measured_ratio=float(row["measured"]) / 100,
            noise_ratio=float(row["noise"]) / 100,
            date=written[1],
            # Without a device the rest of the step shares the cores: every saving is an estimate.
            kind="estimate",
        )


def table(text: str) -> Iterator[str]:
    """Every pair of the zoo's table as Markdown: promised, measured, its interval, the machine and the date."""
    written = _WRITTEN.search(text)
    if written is None:
        return
    yield f"Written by `python -m analyzer.calibration.shipped traces/README.md`; measured on {written[1]} on {written[2]}."
    yield ""
    yield "| rule | planted | promised | measured | interval | within |"
    yield "|---|---|---|---|---|---|"
    for row in _ROW_OF_ANY.finditer(text):
        measured, noise, promised = (float(row[name]) / 100 for name in ("measured", "noise", "promised"))
        pair = Pair(
            rule=row["rules"][:20], source="zoo", name=row["name"], promised_ratio=promised, measured_ratio=measured,
            noise_ratio=noise, date=written[1], kind="estimate",
        )  # fmt: skip
        between = f"{max(measured - noise, -1):.1%} to {min(measured + noise, 1):.1%}"
        cells = [
            row["rules"],
            row["name"],
            f"{promised:.1%}",
            f"{measured:.1%}",
            between,
            "no" if pair.is_exceeded else "yes",
        ]
        yield f"| {' | '.join(cells)} |"


def page(whole: str, text: str) -> str:
    """A page with the table between its two comments."""
    head, _, rest = whole.partition(BEGIN)
    return "\n".join([head + BEGIN, *table(text), END + rest.partition(END)[2]])


def render(text: str) -> str:
    """What is shipped, as the text of `shipped.json`."""
    return msgspec.json.format(msgspec.json.encode(tuple(pairs_of(text))), indent=1).decode() + "\n"


if __name__ == "__main__":
    source = Path(sys.argv[1]).read_text("utf-8")
    SHIPPED.write_text(render(source), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text("utf-8"), source), encoding="utf-8")
