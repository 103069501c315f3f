"""Writes the pairs that ship with the package, from the zoo's own table.

    python -m analyzer.calibration.shipped traces/README.md

The table is written by `python tests/bench/zoo.py -o traces/README.md`. A row of several rules says nothing of one of them:
only rows with one are taken.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from analyzer.calibration.pairs import Pair
from analyzer.calibration.store import SHIPPED

_WRITTEN = re.compile(r"Written by `python tests/bench/zoo\.py[^`]*` on (\d{4}-\d\d-\d\d)")
_ROW = re.compile(
    r"^\| (?P<name>[\w-]+) \| (?P<rule>[A-Z]{2}\d{3}) \| [^|]+ \| (?P<promised>[\d.]+)% \| (?P<measured>-?[\d.]+)% \| [^|]+ \| "
    r"(?P<noise>[\d.]+)% \|$",
    re.MULTILINE,
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
        )


def render(text: str) -> str:
    """What is shipped, as the text of `shipped.json`."""
    return msgspec.json.format(msgspec.json.encode(tuple(pairs_of(text))), indent=1).decode() + "\n"


if __name__ == "__main__":
    SHIPPED.write_text(render(Path(sys.argv[1]).read_text("utf-8")), encoding="utf-8")
